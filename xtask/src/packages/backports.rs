//! Finds the distribution's backports: newer versions of its packages.

/// The format for apt's `indextargets --format` that [`Backports::among`] reads.
pub(super) const FORMAT: &str = "$(CREATED_BY) $(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)";

/// A release of newer versions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backports {
    /// The release, such as `bookworm-backports`.
    pub(super) release: String,
    /// The line for apt's list of sources, if that does not have it yet.
    pub(super) source: Option<String>,
}

impl Backports {
    /// The backports of the release in these lists; Debian's are on the server of its own packages.
    pub(super) fn among(targets: &str) -> Option<Self> {
        let lists: Vec<[&str; 5]> = targets.lines().filter_map(fields).collect();
        let of_packages = |it: &&[&str; 5]| it[0] == "Packages" && it[4] == "main";
        let [_, origin, uri, codename, _] =
            lists.iter().filter(of_packages).find(|list| !list[3].contains('-'))?;
        let release = format!("{codename}-backports");
        let source = if lists.iter().any(|list| list[3] == release) {
            None
        } else if *origin == "Debian" {
            Some(format!("deb {uri} {release} main\n"))
        } else {
            return None;
        };
        Some(Self { release, source })
    }
}

fn fields(line: &str) -> Option<[&str; 5]> {
    line.split_whitespace().collect::<Vec<_>>().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debians_backports_are_where_its_packages_are() {
        let targets = "Translations Debian file:/debian old main\n\
            Packages Debian file:/debian new-updates main\n\
            Packages Debian file:/debian new main\n\
            Packages another vendor file:/another stable main\n";
        let found = Backports::among(targets).unwrap();
        assert_eq!(found.release, "new-backports");
        assert_eq!(found.source.as_deref(), Some("deb file:/debian new-backports main\n"));
        let both = format!("{targets}Packages Debian file:/debian new-backports main\n");
        assert_eq!(Backports::among(&both).unwrap().source, None, "it is there already");
    }

    #[test]
    fn others_have_backports_only_where_they_are_listed() {
        let own = "Packages Other file:/other name main\n";
        assert_eq!(Backports::among(own), None);
        let both = format!("{own}Packages Other file:/other name-backports main\n");
        assert_eq!(Backports::among(&both).unwrap().release, "name-backports");
        assert_eq!(Backports::among(""), None);
    }
}
