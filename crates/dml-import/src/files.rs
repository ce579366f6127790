//! Reads files up to a size limit, and finds files that a model names without leaving its folder.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use crate::error::{Error, Result, shortened};

/// Reads a whole regular file of at most `limit` bytes.
///
/// # Errors
/// [`Error::Unreadable`].
pub(crate) fn read(path: &Path, limit: u64) -> Result<Bytes> {
    OpenFile::open(path)?.read(limit)
}

/// Checks that `offset` and `bytes` lie within a file of `length` bytes.
pub(crate) fn check_range(length: u64, offset: u64, bytes: u64) -> Result<()> {
    if offset.checked_add(bytes).is_some_and(|end| end <= length) {
        return Ok(());
    }
    let problem =
        format!("{bytes} bytes from byte {offset} on reach beyond the file's {length} bytes");
    Err(Error::Malformed(problem))
}

/// The facts about a file that tell it from one that is written to its path later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    length: u64,
    /// The numbers of the file system and of the file; `None` where the system has none.
    identity: Option<(u64, u64)>,
    /// `None` where the system does not tell it.
    modified: Option<SystemTime>,
}

/// A range of a file that is read when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) path: PathBuf,
    /// The offset of the first byte.
    pub(crate) offset: u64,
    pub(crate) version: FileVersion,
}

impl FileRange {
    /// Reads so many bytes.
    ///
    /// # Errors
    /// [`Error::Unreadable`], also if the file was written since the model was read; [`Error::Malformed`]: the file
    /// ends before the range does.
    pub(crate) fn read(&self, bytes: u64) -> Result<Bytes> {
        let mut file = OpenFile::open(&self.path)?;
        if file.version != self.version {
            let problem = "was written since the model was read; accepted: the same file";
            return Err(Error::Unreadable(problem.to_owned()));
        }
        file.range(self.offset, bytes)
    }
}

/// A regular file that is open, with its version when it was opened. No read gives bytes of another version.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    version: FileVersion,
}

impl OpenFile {
    /// # Errors
    /// [`Error::Unreadable`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let version = FileVersion::of(&file)?;
        Ok(Self { file, version })
    }

    pub(crate) fn version(&self) -> FileVersion {
        self.version
    }

    /// The whole file, of at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Unreadable`], also if the file was written since it was opened.
    pub(crate) fn read(&mut self, limit: u64) -> Result<Bytes> {
        let length = self.version.length;
        if length > limit {
            let problem = format!("{length} bytes are too many; accepted: up to {limit}");
            return Err(Error::Unreadable(problem));
        }
        self.range(0, length)
    }

    /// A range of the file.
    ///
    /// # Errors
    /// [`Error::Unreadable`], also if the file was written since it was opened; [`Error::Malformed`]: the file ends
    /// before the range does.
    pub(crate) fn range(&mut self, offset: u64, bytes: u64) -> Result<Bytes> {
        check_range(self.version.length, offset, bytes)?;
        self.file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
        let found = read_exactly(&mut self.file, bytes);
        if FileVersion::of(&self.file)? != self.version {
            let problem = "was written while it was read; accepted: a file that nobody writes";
            return Err(Error::Unreadable(problem.to_owned()));
        }
        found
    }
}

/// The file of a model, and its content.
#[derive(Clone, Debug)]
pub(crate) struct OwnFile {
    pub(crate) path: PathBuf,
    /// The version that `bytes` are from.
    pub(crate) version: FileVersion,
    pub(crate) bytes: Bytes,
}

/// The version of a regular file.
///
/// # Errors
/// [`Error::Unreadable`].
pub(crate) fn version_of(path: &Path) -> Result<FileVersion> {
    Ok(OpenFile::open(path)?.version)
}

impl FileVersion {
    fn of(file: &File) -> Result<Self> {
        let metadata = file.metadata().map_err(unreadable)?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt as _;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Ok(Self { length: metadata.len(), identity, modified: metadata.modified().ok() })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

/// A model's folder, which contains all files that the model names.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The model's own file.
    own: Option<OwnFile>,
    /// The files that the model named, and that exist.
    named: RefCell<BTreeSet<PathBuf>>,
}

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), own: None, named: RefCell::default() }
    }

    /// This folder, with the model's own file.
    pub(crate) fn with_own_file(self, own: OwnFile) -> Self {
        Self { own: Some(own), ..self }
    }

    /// The place in the model's own file of `part`, which shares the memory of the bytes that were read.
    pub(crate) fn place_of(&self, part: &Bytes) -> Option<FileRange> {
        let OwnFile { path, version, bytes } = self.own.as_ref()?;
        let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
        let is_inside = start.checked_add(part.len()).is_some_and(|end| end <= bytes.len());
        let is_same = u64::try_from(bytes.len()) == Ok(version.length);
        let offset = u64::try_from(start).ok()?;
        let range = FileRange { path: path.clone(), offset, version: *version };
        (is_inside && is_same).then_some(range)
    }

    /// The path of file `name`, which neither its spelling nor a link may lead outside of the folder.
    ///
    /// # Errors
    /// [`Error::Malformed`]: the path leaves the folder; [`Error::Unreadable`]: there is no such file.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf> {
        let path = inside(&self.path, name)?;
        self.named.borrow_mut().insert(path.clone());
        Ok(path)
    }

    /// Adds the files that were requested from `other` to this folder's.
    pub(crate) fn remember(&self, other: Self) {
        self.named.borrow_mut().extend(other.into_named());
    }

    /// The files that were requested and exist.
    pub(crate) fn into_named(self) -> impl Iterator<Item = PathBuf> {
        self.named.into_inner().into_iter()
    }
}

fn inside(folder: &Path, name: &str) -> Result<PathBuf> {
    stays_inside(name)?;
    let path = folder.join(name);
    let absolute = |path: &Path| {
        path.canonicalize()
            .map_err(|error| Error::Unreadable(format!("'{}': {error}", shortened(name))))
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if absolute(&path)?.starts_with(absolute(folder)?) {
        return Ok(path);
    }
    Err(leaves(name))
}

/// Checks that a relative path consists of names only.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn stays_inside(name: &str) -> Result<()> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    // A model may come from Windows, whose separators and drive letters are not accepted.
    let foreign = name.contains(['\\', ':', '\0']);
    if name.is_empty() || foreign || !Path::new(name).components().all(plain) {
        return Err(leaves(name));
    }
    Ok(())
}

fn leaves(name: &str) -> Error {
    let name = shortened(name);
    Error::malformed(format!(
        "'{name}' leaves the model's folder; accepted: relative paths without '..', ':' and '\\'"
    ))
}

fn open(path: &Path) -> Result<File> {
    // Opening a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Error::Unreadable("not a regular file".to_owned()));
    }
    File::open(path).map_err(unreadable)
}

fn read_exactly(file: &mut File, bytes: u64) -> Result<Bytes> {
    let mut all = Vec::new();
    let reserve = usize::try_from(bytes).ok().map(|bytes| all.try_reserve_exact(bytes));
    if !matches!(reserve, Some(Ok(()))) {
        return Err(Error::Unreadable(format!("out of host memory for {bytes} bytes")));
    }
    file.take(bytes).read_to_end(&mut all).map_err(unreadable)?;
    if u64::try_from(all.len()) != Ok(bytes) {
        return Err(Error::Unreadable("became shorter while it was read".to_owned()));
    }
    Ok(all.into())
}

fn unreadable(error: std::io::Error) -> Error {
    Error::Unreadable(format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        for name in ["../x", "/x", "a/../../x", "", "..", "C:\\x", "a\\..\\x", "a\0"] {
            assert!(stays_inside(name).is_err(), "{name}");
        }
        for name in ["x", "./x", "a/b.bin", "..x"] {
            assert!(stays_inside(name).is_ok(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_the_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model");
        std::fs::create_dir(&model).unwrap();
        std::fs::write(folder.path().join("secret"), b"x").unwrap();
        std::os::unix::fs::symlink("../secret", model.join("link")).unwrap();
        let error = inside(&model, "link").unwrap_err().to_string();
        assert!(error.starts_with("'link' leaves the model's folder"), "{error}");
        std::fs::write(model.join("weights"), b"x").unwrap();
        assert!(inside(&model, "weights").is_ok());
    }

    #[test]
    fn parts_of_the_models_own_file_are_found_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"12345").unwrap();
        let bytes = read(&path, 5).unwrap();
        let (path, version) = (path.clone(), version_of(&path).unwrap());
        let own = OwnFile { path: path.clone(), version, bytes: bytes.clone() };
        let own = Folder::new(folder.path()).with_own_file(own);
        let place = own.place_of(&bytes.slice(1..4)).unwrap();
        assert_eq!((place.offset, &place.read(3).unwrap()[..]), (1, &b"234"[..]));
        assert_eq!(own.place_of(&Bytes::from(vec![0; 3])), None);
        std::fs::write(&path, b"123456").unwrap();
        let error = place.read(3).unwrap_err().to_string();
        assert!(error.starts_with("was written since the model was read"), "{error}");
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap().len(), 5);
        let error = read(&path, 4).unwrap_err().to_string();
        assert_eq!(error, "5 bytes are too many; accepted: up to 4");
        let range = |offset, bytes| OpenFile::open(&path).unwrap().range(offset, bytes);
        assert_eq!(&range(1, 2).unwrap()[..], b"23");
        assert!(range(4, 2).is_err());
        assert!(range(u64::MAX, 2).is_err());
        assert!(read(folder.path(), 5).is_err());
    }

    #[test]
    fn no_bytes_are_given_of_a_file_that_is_written_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"12345").unwrap();
        let mut file = OpenFile::open(&path).unwrap();
        assert_eq!(&file.range(0, 2).unwrap()[..], b"12");
        std::fs::write(&path, b"abcdefg").unwrap();
        let error = file.range(2, 3).unwrap_err().to_string();
        assert!(error.starts_with("was written while it was read"), "{error}");
        let error = file.read(9).unwrap_err().to_string();
        assert!(error.starts_with("was written while it was read"), "{error}");
    }

    /// The bytes are those of the file that was opened, and its version is not the new file's.
    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_another_of_the_same_length_and_time_is_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["x", "y"].map(|name| folder.path().join(name));
        std::fs::write(&path, b"12345").unwrap();
        std::fs::write(&other, b"abcde").unwrap();
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        File::options().append(true).open(&other).unwrap().set_modified(time).unwrap();
        let mut file = OpenFile::open(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(&file.read(5).unwrap()[..], b"12345");
        let range = FileRange { path, offset: 0, version: file.version() };
        let error = range.read(5).unwrap_err().to_string();
        assert!(error.starts_with("was written since the model was read"), "{error}");
    }
}
