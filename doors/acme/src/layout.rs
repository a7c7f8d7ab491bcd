//! Where ACME's resources are, seen from outside. Clients follow what they are given, so nothing depends on it but those
//! who expect another server's paths.

/// Other paths for what is below `/acme/`; without any, everything is where it is.
#[derive(Clone, Debug, Default)]
pub struct Layout(Vec<(Pattern, Pattern)>);

impl Layout {
    /// Pairs of a path outside and a path inside. `{}` stands for the same part in both. The first pair that fits is
    /// taken.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(pairs.into_iter().map(|(outside, inside)| (Pattern::new(outside), Pattern::new(inside))).collect())
    }

    /// The path inside for one that was asked for; none where nothing is there.
    pub fn inside(&self, path: &str) -> Option<String> {
        if self.0.is_empty() {
            return Some(path.to_owned());
        }
        self.0.iter().find_map(|(outside, inside)| Some(inside.with(outside.part(path)?)))
    }

    /// The path that the world knows for one inside; a query stays as it is.
    pub(crate) fn outside(&self, path_and_query: &str) -> String {
        let (path, query) = match path_and_query.find('?') {
            Some(at) => path_and_query.split_at(at),
            None => (path_and_query, ""),
        };
        let known = self.0.iter().find_map(|(outside, inside)| Some(outside.with(inside.part(path)?)));
        format!("{}{query}", known.as_deref().unwrap_or(path))
    }
}

/// A path, or one with a part that is open.
#[derive(Clone, Debug)]
struct Pattern {
    before: String,
    /// None: there is no open part.
    after: Option<String>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        match text.split_once("{}") {
            Some((before, after)) => Self { before: before.to_owned(), after: Some(after.to_owned()) },
            None => Self { before: text.to_owned(), after: None },
        }
    }

    /// What stands for the open part in a path that fits.
    fn part<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(self.before.as_str())?;
        match &self.after {
            None => rest.is_empty().then_some(rest),
            Some(after) => rest.strip_suffix(after.as_str()).filter(|part| !part.is_empty()),
        }
    }

    fn with(&self, part: &str) -> String {
        match &self.after {
            None => self.before.clone(),
            Some(after) => format!("{}{part}{after}", self.before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_there_and_back() {
        let layout = Layout::new([
            ("/dir", "/acme/a/directory"),
            ("/finish/{}", "/acme/order/{}/finalize"),
            ("/order/{}", "/acme/order/{}"),
        ]);
        for (outside, inside) in [
            ("/dir", "/acme/a/directory"),
            ("/finish/7", "/acme/order/7/finalize"),
            ("/order/7", "/acme/order/7"),
            ("/order/7/more", "/acme/order/7/more"),
        ] {
            assert_eq!(layout.inside(outside).as_deref(), Some(inside));
            assert_eq!(layout.outside(inside), outside);
        }
        assert_eq!(layout.outside("/acme/order/7?cursor=x"), "/order/7?cursor=x");
        for nowhere in ["/", "/dir/", "/order/", "/acme/order/7", "/acme/a/directory"] {
            assert_eq!(layout.inside(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn without_other_paths_everything_is_where_it_is() {
        let layout = Layout::default();
        assert_eq!(layout.inside("/acme/order/7").as_deref(), Some("/acme/order/7"));
        assert_eq!(layout.outside("/acme/order/7?x"), "/acme/order/7?x");
    }
}
