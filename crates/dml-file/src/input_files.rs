//! Files that a command reads and therefore must not write.

use std::fmt;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// The files that a command reads. An output that is one of them is refused, whatever path, link or
/// spelling it is given by.
#[derive(Clone, Debug, Default)]
pub struct InputFiles(Vec<InputFile>);

#[derive(Clone, Debug)]
struct InputFile {
    path: PathBuf,
    identity: Identity,
}

/// Tells whether two paths lead to one file.
#[derive(Clone, Debug)]
struct Identity {
    canonical: PathBuf,
    metadata: Metadata,
}

/// An output that would replace an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverwrittenInput {
    /// The output, as the caller named it.
    pub output: PathBuf,
    /// The input, as the caller named it.
    pub input: PathBuf,
}

impl InputFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. A file that does not exist is ignored: reading it gives its own error.
    pub fn add(&mut self, path: &Path) {
        if let Some(identity) = Identity::of(path) {
            self.0.push(InputFile { path: path.to_owned(), identity });
        }
    }

    /// Checks that `output` is not one of these files.
    ///
    /// # Errors
    /// [`OverwrittenInput`] names both.
    pub fn check(&self, output: &Path) -> Result<(), OverwrittenInput> {
        let Some(identity) = Identity::of(output) else { return Ok(()) };
        match self.0.iter().find(|input| input.identity.is_same(&identity)) {
            None => Ok(()),
            Some(input) => {
                Err(OverwrittenInput { output: output.to_owned(), input: input.path.clone() })
            }
        }
    }
}

impl Identity {
    /// `None` if there is no regular file.
    fn of(path: &Path) -> Option<Self> {
        let canonical = fs::canonicalize(path).ok()?;
        let metadata = fs::metadata(&canonical).ok().filter(Metadata::is_file)?;
        Some(Self { canonical, metadata })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.canonical == other.canonical || is_same_inode(&self.metadata, &other.metadata)
    }
}

#[cfg(unix)]
fn is_same_inode(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Files are identified by their canonical paths only.
#[cfg(not(unix))]
fn is_same_inode(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

impl std::error::Error for OverwrittenInput {}

impl fmt::Display for OverwrittenInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, input } = self;
        // The path of an output may end in a name that a file gave.
        let output = output.display().to_string().replace(char::is_control, "_");
        let input = input.display();
        write!(f, "cannot write {output}: it is the input file {input}, which is not overwritten")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_known_by_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("x.npy");
        fs::write(&input, b"values").unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        let mut inputs = InputFiles::new();
        inputs.add(&input);
        inputs.add(&folder.path().join("missing"));
        let refused = |output: &Path| inputs.check(output).unwrap_err();
        assert_eq!(
            refused(&input),
            OverwrittenInput { output: input.clone(), input: input.clone() }
        );
        refused(&folder.path().join("below/../x.npy"));
        refused(&folder.path().join("./x.npy"));
        for other in ["y.npy", "missing", "below", "no/x.npy"] {
            inputs.check(&folder.path().join(other)).unwrap();
        }
        assert_eq!(
            refused(&input).to_string(),
            format!(
                "cannot write {0}: it is the input file {0}, which is not overwritten",
                input.display()
            )
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_input_is_known_by_any_link() {
        let folder = tempfile::tempdir().unwrap();
        let [input, symbolic, hard] =
            ["x", "symbolic", "hard"].map(|name| folder.path().join(name));
        fs::write(&input, b"values").unwrap();
        std::os::unix::fs::symlink("x", &symbolic).unwrap();
        fs::hard_link(&input, &hard).unwrap();
        for read in [&input, &symbolic, &hard] {
            let mut inputs = InputFiles::new();
            inputs.add(read);
            for written in [&input, &symbolic, &hard] {
                assert!(inputs.check(written).is_err());
            }
        }
    }
}
