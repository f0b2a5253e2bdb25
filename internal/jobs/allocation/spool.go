package allocation

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// A spool holds rows until the whole of an answer has come. It is a file without
// a name, so that nothing is left of it however the process ends; rows in memory
// would cost hundreds of megabytes for an hour of a large cluster.
type spool struct {
	file  *os.File
	out   *bufio.Writer
	count int64
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "provider-finops-hour-*")
	if err != nil {
		return nil, fmt.Errorf("cannot make room for an hour in the temporary folder, which TMPDIR names: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("cannot make room for an hour in the temporary folder: %w", err)
	}
	return &spool{file: file, out: bufio.NewWriterSize(file, 1<<16)}, nil
}

func (s *spool) add(row []byte) error {
	if _, err := s.out.Write(row); err != nil {
		return fmt.Errorf("cannot keep row %d of an hour in the temporary folder: %w", s.count+1, err)
	}
	s.count++
	return nil
}

// complete says that no row follows.
func (s *spool) complete() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("cannot keep an hour in the temporary folder: %w", err)
	}
	s.out = nil // Nor does its buffer wait with the file.
	return nil
}

// rows reads from the beginning.
func (s *spool) rows() io.Reader { return io.NewSectionReader(s.file, 0, 1<<62) }

func (s *spool) close() { _ = s.file.Close() }
