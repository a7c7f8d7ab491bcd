//! As much of Markdown as the pages use.

/// What matters of a page.
pub(crate) struct Markdown {
    /// As the fragments of addresses name them.
    pub(crate) headings: Vec<String>,
    pub(crate) links: Vec<String>,
    /// What stands between backticks.
    pub(crate) spans: Vec<String>,
    /// Fenced blocks, by their language.
    pub(crate) blocks: Vec<(String, String)>,
}

impl Markdown {
    pub(crate) fn read(text: &str) -> Self {
        let (mut headings, mut blocks, mut prose) = (Vec::new(), Vec::new(), String::new());
        let mut fence: Option<(String, String)> = None;
        for line in text.lines() {
            match (line.trim_start().strip_prefix("```"), fence.as_mut()) {
                (Some(_), Some(_)) => blocks.extend(fence.take()),
                (Some(language), None) => fence = Some((language.trim().to_owned(), String::new())),
                (None, Some((_, inside))) => {
                    inside.push_str(line);
                    inside.push('\n');
                }
                (None, None) => {
                    if line.starts_with('#') {
                        let heading = unused(slug(line.trim_start_matches('#').trim()), &headings);
                        headings.push(heading);
                    }
                    prose.push_str(line);
                    prose.push('\n');
                }
            }
        }
        let (plain, spans) = without_code(&prose);
        Self { headings, links: links(&plain), spans, blocks }
    }
}

/// A heading that there was before gets a number.
fn unused(slug: String, known: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{slug}-{number}"));
    std::iter::once(slug.clone()).chain(numbered).find(|name| !known.contains(name)).unwrap()
}

/// As code hosts and mdBook make it of a heading.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The text without what stands between backticks, and that. A span may be broken over lines, not over paragraphs.
fn without_code(text: &str) -> (String, Vec<String>) {
    let (mut plain, mut spans, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find('`') {
        plain.push_str(&rest[..start]);
        let ticks = &rest[start..rest.len() - rest[start..].trim_start_matches('`').len()];
        let inside = &rest[start + ticks.len()..];
        let end = inside.find(ticks).filter(|end| !inside[..*end].contains("\n\n"));
        rest = match end {
            Some(end) => {
                spans.push(inside[..end].split_whitespace().collect::<Vec<_>>().join(" "));
                &inside[end + ticks.len()..]
            }
            None => inside,
        };
    }
    (plain + rest, spans)
}

fn links(plain: &str) -> Vec<String> {
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).collect()
}
