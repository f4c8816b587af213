// SPDX-License-Identifier: MIT

package stoker

// A share is which positions are a reader's batches (PROTOCOL.md, section 7), to check what the
// daemon says. Knows no connection.
type share struct {
	samples, size, rank, world uint64 // samples: of an epoch, over all ranks
	last                       LastBatch
	sized                      bool // with Buckets: which run of one size is where, only the daemon knows
}

// all ranks' batch together
func (s *share) all() uint64 { return s.size * s.world }

func (s *share) offset() uint64 { return s.size * s.rank }

// next is where the next batch begins, when everything before `at` was had.
func (s *share) next(at Place) Place {
	if s.sized {
		return at
	}
	left := s.samples - min(at.Position, s.samples)
	least := uint64(1)
	switch s.last {
	case LastBatchDrop:
		least = s.all()
	case LastBatchPad, LastBatchWrap:
	default:
		least = s.offset() + 1
	}
	if left < least {
		over := at.Position - min(at.Position, s.samples)
		if s.last != LastBatchWrap {
			over = 0
		}
		at = Place{at.Epoch + 1, over}
	}
	return Place{at.Epoch, at.Position + s.offset()}
}

// after is the place behind the batch at `first`, the same for all ranks.
func (s *share) after(first Place) Place {
	begin := first.Position - s.offset()
	left := s.samples - begin
	if left > s.all() && (s.last != LastBatchDrop || left-s.all() >= s.all()) {
		return Place{first.Epoch, begin + s.all()}
	}
	if s.last == LastBatchWrap {
		return Place{first.Epoch + 1, s.all() - left}
	}
	return Place{first.Epoch + 1, 0}
}

// has: is this BATCH or BAD_SAMPLE the next one?
func (s *share) has(at Place, m *message) bool {
	first := s.next(at)
	epoch, position := m.uint("epoch"), m.uint("position")
	if s.sized {
		next := m.place()
		forth := next.Epoch == at.Epoch && next.Position > position ||
			next == Place{at.Epoch + 1, 0}
		return epoch == at.Epoch && position >= at.Position && forth &&
			(m.name != "batch" || m.uint("count") <= s.size)
	}
	if epoch != first.Epoch || position < first.Position || m.place() != s.after(first) {
		return false
	}
	if m.name != "batch" {
		return position-first.Position < s.size
	}
	count := s.size
	if s.last == "" || s.last == LastBatchShort {
		count = min(count, s.samples-first.Position)
	}
	return position == first.Position && m.uint("count") == count
}
