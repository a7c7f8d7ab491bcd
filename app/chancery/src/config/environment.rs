//! Settings from the environment: `CHANCERY__SERVER__LISTEN`, `CHANCERY__IDENTITY__EXTERNAL__0__ISSUER`.

use toml::{Table, Value};

use super::problems::Problems;
use super::shape;

/// What the names of all these variables begin with.
pub const PREFIX: &str = "CHANCERY__";

/// More entries of a list than anybody gives by single variables; keeps a mistyped index from filling the memory.
const MOST_ENTRIES: usize = 100;

/// The variables that are settings. Others may hold anything, also what is no text.
pub fn variables() -> impl Iterator<Item = (String, String)> {
    let ours = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    ours.map(|(name, text)| (name.to_string_lossy().into_owned(), text.to_string_lossy().into_owned()))
}

/// Puts each variable over what was written. `shape` has every setting once and says which kind each is.
pub fn apply(
    written: &mut Table,
    shape: &Table,
    variables: impl Iterator<Item = (String, String)>,
    problems: &mut Problems,
) {
    for (name, text) in variables {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        let path: Vec<_> = path.split("__").map(str::to_lowercase).collect();
        if let Err(message) = set_in(written, shape, &path, &text) {
            problems.add(name, message);
        }
    }
}

fn set_in(table: &mut Table, shape: &Table, path: &[String], text: &str) -> Result<(), String> {
    let (key, rest) = path.split_first().ok_or("is a section; name a setting in it")?;
    let shape = shape.get(key).ok_or_else(|| shape::unknown(key, shape))?;
    let was_written = table.contains_key(key);
    let place = table.entry(key.clone()).or_insert_with(|| empty_like(shape));
    let done = set(place, shape, rest, text);
    if done.is_err() && !was_written {
        // Nobody wrote what stands there now, so nobody is to be told of it.
        table.remove(key);
    }
    done
}

fn set(place: &mut Value, shape: &Value, path: &[String], text: &str) -> Result<(), String> {
    match shape {
        Value::Table(shape) => {
            if !place.is_table() {
                *place = Value::Table(Table::new());
            }
            set_in(place.as_table_mut().expect("it was just made one"), shape, path, text)
        }
        Value::Array(shape) => match path.split_first() {
            Some((index, rest)) => set_entry(place, &shape[0], index, rest, text),
            None => read_list(&shape[0], text).map(|list| *place = Value::Array(list)),
        },
        _ if path.is_empty() => read(shape, text).map(|value| *place = value),
        _ => Err("is not a setting: it goes on where a value belongs".to_owned()),
    }
}

fn set_entry(place: &mut Value, shape: &Value, index: &str, path: &[String], text: &str) -> Result<(), String> {
    let index = index.parse::<usize>().ok().filter(|index| *index < MOST_ENTRIES);
    let index = index.ok_or("is not a setting: the place in a list is a number from 0 on")?;
    if !place.is_array() {
        *place = Value::Array(Vec::new());
    }
    let list = place.as_array_mut().expect("it was just made one");
    while list.len() <= index {
        list.push(empty_like(shape));
    }
    set(&mut list[index], shape, path, text)
}

fn read(shape: &Value, text: &str) -> Result<Value, String> {
    let wrong = || format!("must be {}", shape::kind(shape));
    match shape {
        Value::String(_) => Ok(Value::String(text.to_owned())),
        Value::Integer(_) => text.trim().parse().map(Value::Integer).map_err(|_| wrong()),
        Value::Boolean(_) => text.trim().parse().map(Value::Boolean).map_err(|_| wrong()),
        Value::Float(_) => text.trim().parse().map(Value::Float).map_err(|_| wrong()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => Err(wrong()),
    }
}

/// A list as TOML writes it, or texts with commas between.
fn read_list(shape: &Value, text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with('[') {
        let read = format!("list = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("list"));
        return match read {
            Some(Value::Array(list)) => Ok(list),
            _ => Err("must be a list as TOML writes it, such as [\"a\", \"b\"]".to_owned()),
        };
    }
    if !shape.is_str() {
        return Err("must be a list as TOML writes it, such as [{…}, {…}]".to_owned());
    }
    let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
    Ok(texts.map(|text| Value::String(text.to_owned())).collect())
}

fn empty_like(shape: &Value) -> Value {
    match shape {
        Value::Table(_) => Value::Table(Table::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::String(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: &str = "[server]\nlisten = ''\n[server.tls]\nkey = ''\n[limits]\nburst = 1\nrefuse = true\n\
                         [policy]\ndomains = ['']\n[[list]]\nname = ''\nkinds = ['']\n";

    fn applied(written: &str, variables: &[(&str, &str)]) -> (String, Vec<String>) {
        let (mut written, mut problems) = (written.parse::<Table>().unwrap(), Problems::default());
        let variables = variables.iter().map(|(name, text)| (format!("{PREFIX}{name}"), (*text).to_owned()));
        apply(&mut written, &SHAPE.parse().unwrap(), variables, &mut problems);
        let problems = problems.0.into_iter().map(|problem| format!("{}: {}", problem.setting, problem.message));
        (toml::to_string(&written).unwrap(), problems.collect())
    }

    #[test]
    fn a_variable_goes_over_what_was_written() {
        let (written, problems) = applied(
            "[server]\nlisten = 'a'\n",
            &[
                ("SERVER__LISTEN", "123"),
                ("SERVER__TLS__KEY", "k.pem"),
                ("LIMITS__BURST", "7"),
                ("LIMITS__REFUSE", "true"),
                ("POLICY__DOMAINS", "a.example, b.example"),
            ],
        );
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            written.parse::<Table>().unwrap(),
            "[server]\nlisten = '123'\ntls.key = 'k.pem'\n[limits]\nburst = 7\nrefuse = true\n\
             [policy]\ndomains = ['a.example', 'b.example']\n"
                .parse()
                .unwrap()
        );
    }

    #[test]
    fn lists_are_written_whole_or_entry_by_entry() {
        let (whole, _) = applied("", &[("LIST", "[{ name = 'a' }, { name = 'b' }]")]);
        let (by_entry, problems) = applied("[[list]]\nname = 'a'", &[("LIST__1__NAME", "b")]);
        assert_eq!((whole, problems), (by_entry, Vec::new()));
        let (written, _) = applied("", &[("LIST__0__KINDS__1", "y"), ("LIST__0__KINDS__0", "x")]);
        assert_eq!(written.parse::<Table>().unwrap(), "[[list]]\nkinds = ['x', 'y']".parse().unwrap());
    }

    #[test]
    fn what_fits_nothing_is_told_by_the_name_of_the_variable() {
        let (written, problems) = applied(
            "",
            &[
                ("SERVER__LISEN", "x"),
                ("SERVER", "x"),
                ("LIMITS__BURST", "many"),
                ("LIST__X__NAME", "x"),
                ("LIST__4000000000__NAME", "x"),
                ("SERVER__LISTEN__PORT", "1"),
            ],
        );
        assert_eq!(
            problems,
            [
                "CHANCERY__SERVER__LISEN: is not a setting; did you mean listen?",
                "CHANCERY__SERVER: is a section; name a setting in it",
                "CHANCERY__LIMITS__BURST: must be a whole number",
                "CHANCERY__LIST__X__NAME: is not a setting: the place in a list is a number from 0 on",
                "CHANCERY__LIST__4000000000__NAME: is not a setting: the place in a list is a number from 0 on",
                "CHANCERY__SERVER__LISTEN__PORT: is not a setting: it goes on where a value belongs",
            ]
        );
        assert_eq!(written, "", "nobody wrote anything that could be told of once more");
    }
}
