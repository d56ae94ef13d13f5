package store

// slab keeps copies of short slices in few pieces of memory, each twice as large
// as the one before.
type slab[T any] struct {
	free []T
	size int // of the last piece
}

// Elements of the first piece and of the largest.
const (
	firstPiece   = 512
	largestPiece = 16_384
)

// take gives room for n elements, which are zero. It is never nil, which would be
// unknown.
func (s *slab[T]) take(n int) []T {
	if n == 0 {
		return []T{}
	}
	if n > len(s.free) {
		s.size = min(max(2*s.size, firstPiece), largestPiece)
		if n > s.size/2 {
			return make([]T, n)
		}
		s.free = make([]T, s.size)
	}
	room := s.free[:n:n]
	s.free = s.free[n:]
	return room
}
