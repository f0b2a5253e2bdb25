package opencost

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// snippetBytes is how much of an answer is kept for the log.
	snippetBytes = 500

	// valueBytes bounds what is held in memory of an answer, which is one item. An
	// item lists every volume that it stands for, in some 150 bytes each, and one
	// stands for all volumes of a cluster that nobody mounts.
	valueBytes = 16 << 20
)

// A body reads an answer within its bounds and remembers how it began.
type body struct {
	from  io.Reader
	limit int64

	// consumed returns how many bytes the decoder is done with, so that a value
	// without an end is noticed before it fills the memory.
	consumed func() int64

	read  int64
	begin []byte
	err   error // What ended the reading, if it was not the end.
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.consumed != nil && b.read-b.consumed() > valueBytes {
		b.err = &AnswerError{Kind: ErrTooLarge, Detail: fmt.Sprintf("one value is longer than %d bytes", valueBytes)}
		return 0, b.err
	}

	n, err := b.from.Read(p)
	b.read += int64(n)
	if missing := snippetBytes - len(b.begin); missing > 0 {
		b.begin = append(b.begin, p[:min(n, missing)]...)
	}
	if b.read > b.limit {
		b.err = &AnswerError{Kind: ErrTooLarge, Detail: fmt.Sprintf("it is longer than %d bytes", b.limit)}
		return 0, b.err
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// snippet returns the beginning of the answer as text that can be shown.
func (b *body) snippet() string {
	begin := bytes.TrimSpace(b.begin)
	for len(begin) > 0 && !utf8.Valid(begin) && !utf8.FullRune(begin[max(0, len(begin)-utf8.UTFMax):]) {
		begin = begin[:len(begin)-1]
	}
	return strings.ToValidUTF8(string(begin), "\uFFFD")
}
