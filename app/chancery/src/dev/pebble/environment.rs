//! The variables by which suites tell Pebble what to do.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::dev::hostile::Pause;
use crate::failure::Failure;

/// What they say, where they say anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    pub always_valid: bool,
    pub pause: Option<Pause>,
    pub reject_nonces: Option<u8>,
    /// Whether valid authorizations are used again.
    pub reuse: Option<bool>,
    pub orders_per_page: Option<NonZeroU32>,
    /// Variables that ask for something that is not here.
    unheard: Vec<&'static str>,
}

impl Environment {
    pub fn read() -> Result<Self, Failure> {
        Self::of(|name| std::env::var(name).ok())
    }

    /// Says in the log what nobody heeds.
    pub fn tell_unheard(&self) {
        for name in &self.unheard {
            tracing::warn!("{name} asks for something that is not here, and is passed over");
        }
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let value = |name: &'static str| variable(name).filter(|value| !value.is_empty());
        let on = |name| value(name).is_some_and(|value| ["1", "true"].contains(&value.as_str()));
        let percent = |name| number::<u8>(name, value(name), "a number from 0 to 100", |percent| *percent <= 100);
        let seconds =
            number::<u64>("PEBBLE_VA_SLEEPTIME", value("PEBBLE_VA_SLEEPTIME"), "a number of seconds", |_| true)?;
        let page = "PEBBLE_WFE_ORDERS_PER_PAGE";
        Ok(Self {
            always_valid: on("PEBBLE_VA_ALWAYS_VALID"),
            pause: seconds.filter(|_| !on("PEBBLE_VA_NOSLEEP")).map(|most| Pause::UpTo(Duration::from_secs(most))),
            reject_nonces: percent("PEBBLE_WFE_NONCEREJECT")?,
            reuse: percent("PEBBLE_AUTHZREUSE")?.map(|percent| percent > 0),
            orders_per_page: number(page, value(page), "a number from 1 to 100", |page: &NonZeroU32| {
                page.get() <= 100
            })?,
            unheard: ["PEBBLE_ALTERNATE_ROOTS", "PEBBLE_CHAIN_LENGTH"]
                .into_iter()
                .filter(|name| value(name).is_some_and(|value| !["0", "1"].contains(&value.as_str())))
                .collect(),
        })
    }
}

fn number<T: std::str::FromStr>(
    name: &str,
    value: Option<String>,
    form: &str,
    good: impl Fn(&T) -> bool,
) -> Result<Option<T>, Failure> {
    let Some(text) = value else { return Ok(None) };
    let read = text.parse().ok().filter(good);
    read.map(Some).ok_or_else(|| Failure::usage(format!("{name} is {text:?}; it must be {form}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Environment, Failure> {
        Environment::of(|name| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_are_heard() {
        assert_eq!(of(&[("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_VA_SLEEPTIME", "")]).unwrap(), Environment::default());
        let all = of(&[
            ("PEBBLE_VA_ALWAYS_VALID", "1"),
            ("PEBBLE_VA_SLEEPTIME", "5"),
            ("PEBBLE_WFE_NONCEREJECT", "0"),
            ("PEBBLE_AUTHZREUSE", "0"),
            ("PEBBLE_WFE_ORDERS_PER_PAGE", "15"),
            ("PEBBLE_CHAIN_LENGTH", "2"),
            ("PEBBLE_ALTERNATE_ROOTS", "0"),
        ]);
        let expected = Environment {
            always_valid: true,
            pause: Some(Pause::UpTo(Duration::from_secs(5))),
            reject_nonces: Some(0),
            reuse: Some(false),
            orders_per_page: NonZeroU32::new(15),
            unheard: vec!["PEBBLE_CHAIN_LENGTH"],
        };
        assert_eq!(all.unwrap(), expected);
        let still = of(&[("PEBBLE_VA_SLEEPTIME", "5"), ("PEBBLE_VA_NOSLEEP", "1")]).unwrap();
        assert_eq!(still.pause, None);
    }

    #[test]
    fn nonsense_is_told() {
        for (name, value) in [
            ("PEBBLE_WFE_NONCEREJECT", "101"),
            ("PEBBLE_AUTHZREUSE", "half"),
            ("PEBBLE_VA_SLEEPTIME", "-1"),
            ("PEBBLE_WFE_ORDERS_PER_PAGE", "0"),
        ] {
            let told = of(&[(name, value)]).unwrap_err().to_string();
            assert!(told.contains(name) && told.contains("must be"), "{told}");
        }
    }
}
