//! Replacements for Vulkan's functions, by the shape of the function: generic over the signature, which the
//! compiler infers from ash's type of the function.

use std::mem::transmute;

use dml_vk::ash::vk;

use crate::books;
use crate::dispatch::{self, Dispatched};
use crate::entry_point::EntryPoint;
use crate::host::{Callbacks, Scope};
use crate::watch::Inside;

/// A function whose type is erased; the code that looks it up by name restores the type.
pub(crate) type Erased = unsafe extern "system" fn();

/// A type for each entry point, so that each has its own replacement functions.
pub(crate) trait Named {
    fn entry_point() -> &'static EntryPoint;
}

/// Functions with or without a result.
pub(crate) enum Call {}
/// Functions with a result; the last arguments are the callbacks and the created objects.
pub(crate) enum Create {}
/// Functions without a result; the last arguments are the object and the callbacks.
pub(crate) enum Destroy {}
/// Functions whose last argument receives a queue of the device.
pub(crate) enum GetQueue {}

/// A function type that can be replaced as a function of this shape.
pub(crate) trait Replaceable<N, Shape> {
    fn replacement() -> Erased;
}

/// The replacement of `N`, whose type is that of `_original`, except for lifetimes.
pub(crate) fn replacement<N, Shape, F: Replaceable<N, Shape>>(_original: Option<F>) -> Erased {
    F::replacement()
}

/// The return value of an entry point.
pub(crate) trait Outcome {
    const IS_RESULT: bool;

    fn failed(result: vk::Result) -> Self;
}

impl Outcome for vk::Result {
    const IS_RESULT: bool = true;

    fn failed(result: vk::Result) -> Self {
        result
    }
}

impl Outcome for () {
    const IS_RESULT: bool = false;

    fn failed(_: vk::Result) {}
}

/// Implements [`Replaceable`] for one shape with these arguments. The body calls the original, after the call
/// was recorded and unless it is to fail.
macro_rules! replaceable {
    ($shape:ident [$($generic:ident $(: $bound:path)?),*] ($first:ident: $first_kind:ty
        $(, $argument:ident: $kind:ty)*) -> $result:ty,
        |$name:ident, $original:ident| $body:block) => {
        impl<N: Named $(, $generic $(: $bound)?)*> Replaceable<N, $shape>
            for unsafe extern "system" fn($first_kind $(, $kind)*) -> $result
        {
            fn replacement() -> Erased {
                type Typed<$($generic),*> =
                    unsafe extern "system" fn($first_kind $(, $kind)*) -> $result;

                #[allow(non_snake_case, reason = "some arguments are named after their types")]
                unsafe extern "system" fn function<N: Named $(, $generic $(: $bound)?)*>(
                    $first: $first_kind $(, $argument: $kind)*
                ) -> $result {
                    let entry_point = N::entry_point();
                    if let Some(result) = dispatch::enter(entry_point, &$first) {
                        return Outcome::failed(result);
                    }
                    let $name = entry_point.name();
                    let address = entry_point.original();
                    // SAFETY: the address is that of the original, stored before any call.
                    let $original = unsafe { transmute::<usize, Typed<$($generic),*>>(address) };
                    let _inside = Inside::new($name);
                    $body
                }
                let typed: Self = function::<N $(, $generic)*>;
                // SAFETY: only the type is erased.
                unsafe { transmute::<Self, Erased>(typed) }
            }
        }
    };
}

macro_rules! calls {
    ($(($($kind:ident)*))*) => {$(
        replaceable! {
            Call [A: Dispatched, $($kind,)* R: Outcome] (A: A $(, $kind: $kind)*) -> R,
            |name, original| {
                let _scope = R::IS_RESULT.then(|| Scope::new(name, false));
                // SAFETY: the caller keeps the function's own contract.
                unsafe { original(A $(, $kind)*) }
            }
        }
    )*};
}

calls! {
    () (B) (B C) (B C D) (B C D E) (B C D E F) (B C D E F G) (B C D E F G H) (B C D E F G H I J)
}

type GivenCallbacks = *const vk::AllocationCallbacks<'static>;

macro_rules! creations {
    ($(($($argument:ident: $kind:ident),*) [$($generic:ident),*] * $count:expr;)*) => {$(
        replaceable! {
            Create [A: Dispatched, $($generic,)* O: vk::Handle]
            (A: A, $($argument: $kind,)* callbacks: GivenCallbacks, made: *mut O) -> vk::Result,
            |name, original| {
                let callbacks = Callbacks::instead_of(callbacks);
                let _scope = Scope::new(name, true);
                // SAFETY: the caller keeps the function's own contract.
                let result = unsafe { original(A, $($argument,)* callbacks.as_ptr(), made) };
                if result == vk::Result::SUCCESS {
                    for index in 0..$count as usize {
                        // SAFETY: the driver has written so many handles.
                        let place = unsafe { made.add(index) };
                        // SAFETY: as above.
                        let handle = unsafe { place.read() };
                        books::created(handle);
                    }
                }
                result
            }
        }
    )*};
}

creations! {
    () [] * 1u32;
    (B: B) [B] * 1u32;
    (B: B, count: u32, D: D) [B, D] * count;
}

/// An object that can be destroyed.
trait Object: vk::Handle + Copy {}
impl<T: vk::Handle + Copy> Object for T {}

/// An object that is destroyed without naming its parent.
trait Root: Object + Dispatched {}
impl<T: Object + Dispatched> Root for T {}

macro_rules! destructions {
    ($([$($generic:ident: $bound:ident),*]
        ($($argument:ident: $kind:ident),*) -> $object:ident;)*) => {$(
        replaceable! {
            Destroy [$($generic: $bound),*]
            ($($argument: $kind,)* callbacks: GivenCallbacks) -> (), |_name, original| {
                // Recorded first, because a driver may give the handle out again at once.
                books::destroyed($object);
                let callbacks = Callbacks::instead_of(callbacks);
                // SAFETY: the caller keeps the function's own contract.
                unsafe { original($($argument,)* callbacks.as_ptr()) };
            }
        }
    )*};
}

destructions! {
    [O: Root] (object: O) -> object;
    [P: Dispatched, O: Object] (parent: P, object: O) -> object;
}

replaceable! {
    GetQueue [] (device: vk::Device, family: u32, index: u32, queue: *mut vk::Queue) -> (),
    |_name, original| {
        // SAFETY: the caller keeps the function's own contract.
        unsafe { original(device, family, index, queue) };
        // SAFETY: the driver has written the queue.
        books::note_queue(unsafe { queue.read() }, device);
    }
}

/// One module for each entry point, with its shape and as many `_` as it has arguments: the type that stands
/// for it, and its replacement.
macro_rules! entry_points {
    ($($shape:ident $pfn:ident($($any:tt),*) $(, $failure:ident)*;)*) => {
        $(
            #[allow(non_snake_case, reason = "the name of its type in ash")]
            mod $pfn {
                use super::*;

                pub(super) static ENTRY_POINT: EntryPoint =
                    EntryPoint::new(stringify!($pfn), &[$($failure),*]);

                enum Name {}

                impl shapes::Named for Name {
                    fn entry_point() -> &'static EntryPoint {
                        &ENTRY_POINT
                    }
                }

                pub(super) fn replacement() -> shapes::Erased {
                    let original: Option<unsafe extern "system" fn($($any),*) -> _> =
                        None::<vk::$pfn>;
                    shapes::replacement::<Name, shapes::$shape, _>(original)
                }
            }
        )*

        static ALL: &[(&EntryPoint, fn() -> shapes::Erased)] =
            &[$((&$pfn::ENTRY_POINT, $pfn::replacement)),*];
    };
}

pub(crate) use entry_points;
