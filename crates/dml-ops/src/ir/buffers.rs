//! The buffers that a node uses.

use std::ops::Deref;

use super::buffer::Buffer;

/// As many as most nodes read.
const FEW: usize = 8;

/// Buffers in order. Few of them are kept without an allocation: nodes are asked for theirs all the time.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    few: [Buffer; FEW],
    /// How many of `few` there are; 0 where there are more, which are all in `many`.
    count: usize,
    many: Vec<Buffer>,
}

impl Deref for Buffers {
    type Target = [Buffer];

    fn deref(&self) -> &[Buffer] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

impl Extend<Buffer> for Buffers {
    fn extend<T: IntoIterator<Item = Buffer>>(&mut self, buffers: T) {
        for buffer in buffers {
            match self.few.get_mut(self.count).filter(|_| self.many.is_empty()) {
                Some(next) => {
                    *next = buffer;
                    self.count += 1;
                }
                None => {
                    self.many.extend_from_slice(&self.few[..self.count]);
                    self.count = 0;
                    self.many.push(buffer);
                }
            }
        }
    }
}

impl FromIterator<Buffer> for Buffers {
    fn from_iter<T: IntoIterator<Item = Buffer>>(buffers: T) -> Self {
        let mut all = Self { few: [Buffer::Local(0); FEW], count: 0, many: Vec::new() };
        all.extend(buffers);
        all
    }
}

impl IntoIterator for Buffers {
    type Item = Buffer;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        Iter { buffers: self, next: 0 }
    }
}

/// Gives buffers in order.
pub(crate) struct Iter {
    buffers: Buffers,
    next: usize,
}

impl Iterator for Iter {
    type Item = Buffer;

    fn next(&mut self) -> Option<Buffer> {
        let next = self.buffers.get(self.next).copied();
        self.next += 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_buffers_comes_back_in_order() {
        for count in 0..FEW * 3 {
            let all: Vec<Buffer> = (0..count).map(Buffer::Local).collect();
            let found: Buffers = all.iter().copied().collect();
            assert_eq!(*found, *all);
            assert_eq!(found.into_iter().collect::<Vec<Buffer>>(), all);
        }
    }
}
