//! What a form or a query says: names and values, as browsers write them.

use chancery_domain::Problems;
use chancery_service::ListRequest;
use percent_encoding::percent_decode_str;

/// Values by name, in their order.
#[derive(Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`. What is no UTF-8 is shown as what cannot be read.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(2000).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a name; nothing where it is left out.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Without white space around it; none where nothing else is left.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    /// A whole number from 1 to `most`, where the field is filled.
    pub(crate) fn number(&self, name: &str, most: u32, problems: &mut Problems) -> Option<u32> {
        let number = self.filled(name)?.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
        problems.take(name, number.ok_or_else(|| format!("must be a whole number from 1 to {most}")))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Every value of a name that has one.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(known, value)| known == name && !value.is_empty());
        values.map(|(_, value)| value.clone()).collect()
    }

    /// The entries of a text with one on each line, or with commas between.
    pub(crate) fn entries(&self, name: &str) -> Vec<String> {
        let parts = self.text(name).split([',', '\n', '\r', ' ', '\t']).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// The page of a list that is asked for.
    pub(crate) fn page(&self, limit: u32) -> ListRequest {
        ListRequest { limit, cursor: self.filled("cursor").map(str::to_owned) }
    }

    /// All that was said but for these names.
    pub(crate) fn without(&self, names: &[&str]) -> Vec<&(String, String)> {
        self.0.iter().filter(|(name, _)| !names.contains(&name.as_str())).collect()
    }

    /// With one more value of a name.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a name set to another value.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.into()));
        self
    }
}

fn decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    // Browsers send lines as CR LF.
    percent_decode_str(&spaced).decode_utf8_lossy().replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let fields = Fields::parse("a=1+2%26%C3%A9&b=&c=x%0D%0Ay&c=z&%ff=1");
        assert_eq!((fields.text("a"), fields.text("b"), fields.text("missing")), ("1 2&é", "", ""));
        assert_eq!(fields.all("c"), ["x\ny", "z"]);
        assert_eq!((fields.filled("b"), fields.has("b")), (None, true));
        assert_eq!(Fields::parse("d=a.test%2C+b.test%0A%0Ac.test").entries("d"), ["a.test", "b.test", "c.test"]);
    }
}
