//! C structs that point to something.

use std::marker::PhantomData;

/// A C struct that points to something of the lifetime `'a`. It is not handed out by value, since a raw
/// pointer in it would keep nothing alive: whoever asks for its address still borrows the rest.
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
