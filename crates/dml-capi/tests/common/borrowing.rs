//! C structs with pointers that borrow.

use std::marker::PhantomData;

/// A C struct that points to values of the lifetime `'a`. It is only accessible by reference, because a copy's
/// raw pointers would not keep these values borrowed.
#[repr(transparent)]
pub(crate) struct Borrowing<'a, T> {
    value: T,
    lender: PhantomData<&'a ()>,
}

impl<'a, T> Borrowing<'a, T> {
    /// `value` points to `lender`, and to nothing that goes before it.
    pub(crate) fn new<L: ?Sized>(value: T, _lender: &'a L) -> Self {
        Self { value, lender: PhantomData }
    }

    /// For a call, or for a struct that lives no longer.
    pub(crate) fn as_ptr(&self) -> *const T {
        &raw const self.value
    }
}
