package api

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/corewait/corewait/api/corewaitv1"
)

// What a message and an element of a list take at most, in bytes, as a message, as a
// record and as a row: measured with batches of topologies and of placement.
const (
	messageCost = 2048
	elementCost = 128
)

// check counts the messages and elements of lists in a marshalled batch, before
// memory is taken for them: two bytes make an empty message, and one an element of
// eight bytes. cost is about what the batch and its rows will take in memory.
func (l Limits) check(plain []byte) (cost int64, err error) {
	c := counter{messages: l.Messages, elements: l.Elements}
	err = c.message((*corewaitv1.Batch)(nil).ProtoReflect().Descriptor(), plain)
	return int64(l.Messages-max(c.messages, 0))*messageCost + int64(l.Elements-max(c.elements, 0))*elementCost, err
}

// counter is how many messages and elements are left.
type counter struct{ messages, elements int }

func (c *counter) message(of protoreflect.MessageDescriptor, b []byte) error {
	if c.messages--; c.messages < 0 {
		return fmt.Errorf("messages in a batch: %w", ErrTooLarge)
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("protobuf: %w: %w", ErrMalformed, protowire.ParseError(n))
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return fmt.Errorf("protobuf: %w: %w", ErrMalformed, protowire.ParseError(n))
		}
		if field := of.Fields().ByNumber(number); field != nil {
			if err := c.field(field, kind, b[:n]); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	return nil
}

// field counts one field; value is as it stands on the wire, its length included.
func (c *counter) field(field protoreflect.FieldDescriptor, kind protowire.Type, value []byte) error {
	packed := false
	if kind == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value) // was consumed before
		if inner := field.Message(); inner != nil {
			return c.message(inner, value)
		}
		packed = field.IsPacked()
	}
	switch {
	case packed: // all lists of numbers here are varints, whose last byte is under 0x80
		for _, v := range value {
			if v < 0x80 {
				c.elements--
			}
		}
	case field.IsList():
		c.elements--
	}
	if c.elements < 0 {
		return fmt.Errorf("elements of lists in a batch: %w", ErrTooLarge)
	}
	return nil
}
