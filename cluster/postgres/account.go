package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// serverAccount says as whom to run the server: nil for ourselves. PostgreSQL
// refuses to run as root, so root runs it as its package's user, or as nobody.
func serverAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // As ourselves, which is no failure.
	}
	for _, name := range []string{serverProgram, "nobody"} {
		if account, err := user.Lookup(name); err == nil {
			return credential(account)
		}
	}
	return nil, errors.New("cannot run PostgreSQL as root, and there is neither a user postgres nor nobody to run it as")
}

func credential(account *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("cannot read the user id of %q: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("cannot read the group id of %q: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
