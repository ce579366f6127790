//! Output files of commands: complete or not at all, and never over an input. Writing to a closed pipe
//! ends the command quietly.
#![forbid(unsafe_code)]

mod input_files;
mod printing;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

pub use input_files::{InputFiles, OverwrittenInput};
pub use printing::{Stream, print_to_stderr, print_to_stdout, stderr, stdout};

/// A file that appears under its name when it is complete.
///
/// Until [`Output::commit`] the bytes are in a temporary file next to the target; dropping the output
/// removes the file. A target that is not a regular file, such as a pipe or a terminal, is written
/// directly.
#[derive(Debug)]
pub struct Output {
    writer: BufWriter<File>,
    /// The temporary path and the final one; `None` if the target is written directly.
    rename: Option<(tempfile::TempPath, PathBuf)>,
}

impl Output {
    /// Starts writing to `path`. A symbolic link is kept, and its target is written.
    ///
    /// # Errors
    /// The target cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|target| !target.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Self { writer: BufWriter::new(file), rename: None });
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let file = builder().tempfile_in(folder);
        let (file, temporary) = file.map_err(|error| plain(&error, folder))?.into_parts();
        Ok(Self { writer: BufWriter::new(file), rename: Some((temporary, target)) })
    }

    /// Completes the file under its name.
    ///
    /// # Errors
    /// The bytes could not be stored; the target is unchanged.
    pub fn commit(mut self) -> io::Result<()> {
        self.writer.flush()?;
        match self.rename {
            Some((temporary, target)) => temporary.persist(target).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Writes the bytes that `content` writes to a file, completely or not at all.
///
/// # Errors
/// As [`Output::create`] and [`Output::commit`], and those of `content`; the target is unchanged.
pub fn write(path: &Path, content: impl FnOnce(&mut Output) -> io::Result<()>) -> io::Result<()> {
    let mut output = Output::create(path)?;
    content(&mut output)?;
    output.commit()
}

/// A builder of temporary files with the permissions of ordinary files; by default they are private.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The process's umask is applied to these.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// The error without the temporary file's name, which means nothing to the user.
fn plain(error: &io::Error, folder: &Path) -> io::Error {
    // The system's words for a folder that is not there say more than the kind's.
    fs::metadata(folder).err().unwrap_or_else(|| error.kind().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut output = Output::create(path)?;
        output.write_all(bytes)?;
        output.commit()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        output.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"half");
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(Output::create(&folder.path().join("x")).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Output::create(&folder.path().join("no/x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let expected = fs::read(folder.path().join("no")).unwrap_err().to_string();
        assert_eq!(error.to_string(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_result_is_as_readable_as_any_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        write(&one, b"").unwrap();
        fs::write(&other, b"").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&one), mode(&other));
    }
}
