//! Handles: numbers that stand for objects, never reused and never followed as addresses.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::boundary::{Failure, Result, call};
use crate::memory;
use crate::types::HRESULT;

/// An object that a handle stands for.
pub(crate) trait Object: Any + Send + Sync {
    /// The kind of object, for messages.
    const KIND: &'static str;
}

static REGISTRY: RwLock<Registry> = RwLock::new(Registry { last: 0, entries: BTreeMap::new() });

struct Registry {
    last: usize,
    entries: BTreeMap<usize, Entry>,
}

struct Entry {
    object: Arc<dyn Any + Send + Sync>,
    kind: &'static str,
    parent: Option<usize>,
    children: BTreeSet<usize>,
}

fn read() -> RwLockReadGuard<'static, Registry> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Registry> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}

/// A handle for `object`, which is destroyed with `parent` at the latest.
fn insert<T: Object, H, P>(object: T, parent: Option<*mut P>) -> Result<*mut H> {
    let mut registry = write();
    let parent = parent.map(<*mut P>::addr);
    if let Some(parent) = parent
        && !registry.entries.contains_key(&parent)
    {
        return Err(Failure::invalid(T::KIND, "what it is made from was destroyed meanwhile"));
    }
    // Multiples of 8, so that a handle looks like a pointer to whatever looks at it.
    let number = registry
        .last
        .checked_add(8)
        .ok_or_else(|| Failure::invalid(T::KIND, "there are no handles left"))?;
    registry.last = number;
    let object = Arc::new(object);
    let entry = Entry { object, kind: T::KIND, parent, children: BTreeSet::new() };
    registry.entries.insert(number, entry);
    if let Some(parent) = parent.and_then(|parent| registry.entries.get_mut(&parent)) {
        parent.children.insert(number);
    }
    Ok(std::ptr::without_provenance_mut(number))
}

/// Runs the function called `function`, which makes an object and writes its handle to `place`, or null if it
/// fails. The object is destroyed with `parent` at the latest.
///
/// # Safety
///
/// `place` is null or points to memory for a handle.
pub(crate) unsafe fn create<T: Object, H, P>(
    function: &str,
    (place, name): (*mut *mut H, &str),
    parent: Option<*mut P>,
    make: impl FnOnce() -> Result<T>,
) -> HRESULT {
    call(function, || {
        // SAFETY: the caller's promise.
        unsafe { memory::write(place, std::ptr::null_mut(), name) }?;
        let handle = insert(make()?, parent)?;
        // SAFETY: the caller's promise.
        unsafe { memory::write(place, handle, name) }
    })
}

/// The object that `handle` stands for. It lives as long as the result, even if another thread destroys the
/// handle meanwhile.
pub(crate) fn get<T: Object, H>(handle: *mut H) -> Result<Arc<T>> {
    let entries = &read().entries;
    let entry = entries.get(&handle.addr()).ok_or_else(|| unknown::<T>(handle.is_null()))?;
    Arc::clone(&entry.object).downcast().map_err(|_| {
        Failure::invalid(
            T::KIND,
            format_args!("the handle is that of another kind: {}", entry.kind),
        )
    })
}

/// Destroys the object of `handle`, and all objects that were made from it.
pub(crate) fn remove<T: Object, H>(handle: *mut H) -> Result<()> {
    // Of the right kind, or an error.
    drop(get::<T, H>(handle)?);
    let mut registry = write();
    let Some(parent) = registry.entries.get(&handle.addr()).map(|entry| entry.parent) else {
        return Err(unknown::<T>(false));
    };
    if let Some(parent) = parent.and_then(|parent| registry.entries.get_mut(&parent)) {
        parent.children.remove(&handle.addr());
    }
    let mut removed = Vec::new();
    let mut pending = vec![handle.addr()];
    while let Some(entry) = pending.pop().and_then(|it| registry.entries.remove(&it)) {
        pending.extend(entry.children);
        removed.push(entry.object);
    }
    if registry.entries.is_empty() {
        // An empty map keeps memory, which a program that has destroyed everything does not expect.
        registry.entries = BTreeMap::new();
    }
    // Destroying objects calls Vulkan, and may wait: not while others wait for the registry. Those
    // that were made last go first.
    drop(registry);
    while let Some(object) = removed.pop() {
        drop(object);
    }
    Ok(())
}

fn unknown<T: Object>(is_null: bool) -> Failure {
    let problem =
        if is_null { "the handle is null" } else { "the handle is unknown, or was destroyed" };
    Failure::invalid(T::KIND, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Parent;
    #[derive(Debug)]
    struct Child;

    impl Object for Parent {
        const KIND: &'static str = "parent";
    }

    impl Object for Child {
        const KIND: &'static str = "child";
    }

    fn problem<T: Object + std::fmt::Debug>(handle: *mut u8) -> String {
        format!("{:?}", get::<T, u8>(handle).unwrap_err())
    }

    #[test]
    fn a_handle_stands_for_one_object_until_it_is_destroyed() {
        let parent: *mut u8 = insert(Parent, None::<*mut u8>).unwrap();
        let child: *mut u8 = insert(Child, Some(parent)).unwrap();
        assert!(get::<Parent, u8>(parent).is_ok() && get::<Child, u8>(child).is_ok());
        assert!(problem::<Child>(parent).contains("another kind: parent"));
        assert!(problem::<Child>(std::ptr::null_mut()).contains("null"));
        assert!(remove::<Child, u8>(parent).is_err());
        remove::<Child, u8>(child).unwrap();
        assert!(problem::<Child>(child).contains("was destroyed"));
        assert!(remove::<Child, u8>(child).is_err());
        remove::<Parent, u8>(parent).unwrap();
    }

    #[test]
    fn a_parent_takes_its_children_along() {
        let parent: *mut u8 = insert(Parent, None::<*mut u8>).unwrap();
        let child: *mut u8 = insert(Child, Some(parent)).unwrap();
        let grandchild: *mut u8 = insert(Child, Some(child)).unwrap();
        let kept = get::<Child, u8>(grandchild).unwrap();
        remove::<Parent, u8>(parent).unwrap();
        assert!(problem::<Child>(child).contains("was destroyed"));
        assert!(problem::<Child>(grandchild).contains("was destroyed"));
        assert_eq!(Arc::strong_count(&kept), 1);
        assert!(insert::<_, u8, _>(Child, Some(parent)).is_err());
    }
}
