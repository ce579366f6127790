//! The commands of a run, as the wrapping driver has written them.

/// The commands that a run has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Commands {
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) barriers: usize,
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dispatch {
    /// The number of its pipeline.
    pub(super) pipeline: usize,
    /// The number of work groups; `None` if a buffer has it.
    pub(super) groups: Option<u64>,
}

impl Commands {
    /// The commands after so many lines.
    pub(super) fn after(text: &str, lines: usize) -> Self {
        Self::of(text.lines().skip(lines))
    }

    /// The commands of the last submission.
    pub(super) fn of_last_submission(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let last_of = |lines: &[&str]| lines.iter().rposition(|line| *line == "submit");
        let Some(end) = last_of(&lines) else { return Self::default() };
        let start = last_of(&lines[..end]).map_or(0, |before| before + 1);
        Self::of(lines[start..end].iter().copied())
    }

    fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut commands = Self::default();
        for line in lines {
            let mut words = line.split(' ');
            match words.next() {
                Some("barrier") => commands.barriers += 1,
                Some("dispatch") => commands.dispatches.extend(Dispatch::of(words)),
                _ => {}
            }
        }
        commands
    }
}

impl Dispatch {
    /// `PIPELINE X Y Z`, or `PIPELINE indirect`.
    fn of<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let pipeline = words.next()?.parse().ok()?;
        let groups: Result<Vec<u64>, _> = words.map(str::parse).collect();
        Some(Self { pipeline, groups: groups.ok().map(|sizes| sizes.iter().product()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "copy 4\nbarrier\ndispatch 0 7 1 1\nend\nsubmit\nbarrier\ndispatch 1 64 2 3\nbarrier\n\
        dispatch 1 indirect\nend\nsubmit\n";

    #[test]
    fn a_run_is_what_was_submitted_last_or_what_comes_after_so_many_lines() {
        let dispatches = [Some(384), None].map(|groups| Dispatch { pipeline: 1, groups });
        let last = Commands { dispatches: dispatches.to_vec(), barriers: 2 };
        assert_eq!(Commands::of_last_submission(TEXT), last);
        assert_eq!(Commands::after(TEXT, 5), last);
        assert_eq!(Commands::after(TEXT, 0).dispatches.len(), 3);
        assert_eq!(Commands::of_last_submission("barrier\n"), Commands::default());
    }
}
