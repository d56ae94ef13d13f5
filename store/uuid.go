package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// UUID identifies what is made outside the database: incidents, changes, findings.
// The zero UUID is none.
type UUID [16]byte

// NewUUID gives a random one (RFC 9562, version 4).
func NewUUID() UUID {
	var u UUID
	_, _ = rand.Read(u[:]) // never fails (crypto/rand)
	return u.marked(4)
}

// marked sets the version, and the variant of RFC 9562.
func (u UUID) marked(version byte) UUID {
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ParseUUID reads the form that String writes.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	digits := strings.ReplaceAll(s, "-", "")
	if len(s) != 36 || len(digits) != 32 {
		return u, fmt.Errorf("uuid %.40q: want 8-4-4-4-12 hexadecimal digits", s)
	}
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil || u.String() != strings.ToLower(s) {
		return UUID{}, fmt.Errorf("uuid %q: want 8-4-4-4-12 hexadecimal digits", s)
	}
	return u, nil
}

func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// IsZero says whether it is none.
func (u UUID) IsZero() bool { return u == UUID{} }

// UUIDValue implements pgtype.UUIDValuer.
func (u UUID) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: u, Valid: true}, nil }

// ScanUUID implements pgtype.UUIDScanner.
func (u *UUID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("uuid: NULL")
	}
	*u = v.Bytes
	return nil
}

// MarshalText implements encoding.TextMarshaler: JSON has the form of String.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	*u = parsed
	return err
}
