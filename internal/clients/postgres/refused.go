package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsRefusedData says whether the server refused what it was given: a value it
// cannot represent, a constraint, a limit of its own. The same data would be
// refused again, and other data would not.
func IsRefusedData(err error) bool {
	refused := (*pgconn.PgError)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	for _, class := range []string{"22", "23", "54"} { // Data exception, integrity, program limit.
		if strings.HasPrefix(refused.Code, class) {
			return true
		}
	}
	return false
}
