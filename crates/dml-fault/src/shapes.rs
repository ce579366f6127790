//! Functions in the place of Vulkan's, one for each entry point that is named, by its shape.

/// One module for each entry point: what it is, and the function in its place.
///
/// - `create` returns a result, and its last arguments are the callbacks and the object made; with
///   `[count]` that many objects are.
/// - `destroy` returns nothing, and its last arguments are the object and the callbacks.
/// - `call` returns a result.
/// - `void` returns nothing.
/// - `get_queue` returns nothing, and its last argument is where a queue of the device is written.
macro_rules! entry_points {
    ($($shape:ident $name:ident = $pfn:ident($($argument:ident: $kind:ty),*)
        $(-> $object:ident $([$count:ident])?)? $(, $failure:ident)*;)*) => {
        $(
            #[allow(non_snake_case, reason = "Vulkan's name")]
            mod $name {
                use super::*;

                pub(super) static ENTRY_POINT: EntryPoint =
                    EntryPoint::new(stringify!($name), &[$($failure),*]);

                entry_points!(@ $shape $pfn ($($argument: $kind),*) $(-> $object $([$count])?)?);

                /// The same, with its type erased.
                pub(super) fn replacement() -> unsafe extern "system" fn() {
                    let typed: vk::$pfn = function;
                    // SAFETY: only the type is erased; whoever looks it up by its name restores it.
                    unsafe { transmute::<vk::$pfn, unsafe extern "system" fn()>(typed) }
                }
            }
        )*

        static ALL: &[&EntryPoint] = &[$(&$name::ENTRY_POINT),*];

        fn known(name: &[u8]) -> Option<(&'static EntryPoint, unsafe extern "system" fn())> {
            $(
                if name == stringify!($name).as_bytes() {
                    return Some((&$name::ENTRY_POINT, $name::replacement()));
                }
            )*
            None
        }
    };

    (@ create $pfn:ident ($first:ident: $first_kind:ty $(, $argument:ident: $kind:ty)*)
        -> $object:ident $([$count:ident])?) => {
        unsafe extern "system" fn function(
            $first: $first_kind,
            $($argument: $kind,)*
            callbacks: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::$object,
        ) -> vk::Result {
            if let Some(result) = dispatch::enter(&ENTRY_POINT, $first) {
                return result;
            }
            let callbacks = Callbacks::instead_of(callbacks);
            // SAFETY: the address is that of the original, stored before any call.
            let original = unsafe { transmute::<usize, vk::$pfn>(ENTRY_POINT.original()) };
            let _scope = Scope::new(ENTRY_POINT.name(), true);
            let _inside = Inside::new(ENTRY_POINT.name());
            // SAFETY: the caller keeps the function's own contract.
            let result = unsafe { original($first, $($argument,)* callbacks.as_ptr(), made) };
            if result == vk::Result::SUCCESS {
                #[allow(unused_variables, reason = "where several are made")]
                let count = 1u32;
                $(let count = $count;)?
                for index in 0..count as usize {
                    // SAFETY: the driver has written so many handles.
                    let place = unsafe { made.add(index) };
                    // SAFETY: as above.
                    let handle = unsafe { place.read() };
                    books::created(handle);
                }
            }
            result
        }
    };

    (@ destroy $pfn:ident ($($argument:ident: $kind:ty),*) -> $object:ident) => {
        unsafe extern "system" fn function(
            $($argument: $kind,)*
            object: vk::$object,
            callbacks: *const vk::AllocationCallbacks<'_>,
        ) {
            let _ = dispatch::enter(&ENTRY_POINT, entry_points!(@ first $($argument,)* object));
            // A driver may give the handle out again at once.
            books::destroyed(object);
            let callbacks = Callbacks::instead_of(callbacks);
            // SAFETY: the address is that of the original, stored before any call.
            let original = unsafe { transmute::<usize, vk::$pfn>(ENTRY_POINT.original()) };
            let _inside = Inside::new(ENTRY_POINT.name());
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($($argument,)* object, callbacks.as_ptr()) };
        }
    };

    (@ call $pfn:ident ($first:ident: $first_kind:ty $(, $argument:ident: $kind:ty)*)) => {
        unsafe extern "system" fn function($first: $first_kind $(, $argument: $kind)*) -> vk::Result {
            if let Some(result) = dispatch::enter(&ENTRY_POINT, $first) {
                return result;
            }
            // SAFETY: the address is that of the original, stored before any call.
            let original = unsafe { transmute::<usize, vk::$pfn>(ENTRY_POINT.original()) };
            let _scope = Scope::new(ENTRY_POINT.name(), false);
            let _inside = Inside::new(ENTRY_POINT.name());
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($first $(, $argument)*) }
        }
    };

    (@ void $pfn:ident ($first:ident: $first_kind:ty $(, $argument:ident: $kind:ty)*)) => {
        unsafe extern "system" fn function($first: $first_kind $(, $argument: $kind)*) {
            let _ = dispatch::enter(&ENTRY_POINT, $first);
            // SAFETY: the address is that of the original, stored before any call.
            let original = unsafe { transmute::<usize, vk::$pfn>(ENTRY_POINT.original()) };
            let _inside = Inside::new(ENTRY_POINT.name());
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($first $(, $argument)*) };
        }
    };

    (@ get_queue $pfn:ident ($device:ident: $device_kind:ty, $($argument:ident: $kind:ty),*)
        -> $object:ident) => {
        unsafe extern "system" fn function(
            $device: $device_kind,
            $($argument: $kind,)*
            queue: *mut vk::$object,
        ) {
            let _ = dispatch::enter(&ENTRY_POINT, $device);
            // SAFETY: the address is that of the original, stored before any call.
            let original = unsafe { transmute::<usize, vk::$pfn>(ENTRY_POINT.original()) };
            let _inside = Inside::new(ENTRY_POINT.name());
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($device, $($argument,)* queue) };
            // SAFETY: the driver has written the queue.
            books::note_queue(unsafe { queue.read() }, $device);
        }
    };

    (@ first $first:ident $(, $rest:ident)*) => { $first };
}

pub(crate) use entry_points;
