//! The style and the script: files of their own, so that no page needs anything inline, under paths that change with them.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::refused::Refused;

struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const STYLE: Asset =
    Asset { name: "console.css", kind: "text/css; charset=utf-8", text: include_str!("../assets/console.css") };
const SCRIPT: Asset =
    Asset { name: "console.js", kind: "text/javascript; charset=utf-8", text: include_str!("../assets/console.js") };
const ICON: Asset = Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("../assets/icon.svg") };

static PATHS: LazyLock<[String; 3]> = LazyLock::new(|| [&STYLE, &SCRIPT, &ICON].map(path));

pub(crate) fn style() -> &'static str {
    &PATHS[0]
}

pub(crate) fn script() -> &'static str {
    &PATHS[1]
}

pub(crate) fn icon() -> &'static str {
    &PATHS[2]
}

pub(crate) async fn file(Path(asked): Path<String>) -> Result<Response, Refused> {
    let wanted = format!("/console/static/{asked}");
    let place = PATHS.iter().position(|path| *path == wanted);
    let asset = place.and_then(|place| [&STYLE, &SCRIPT, &ICON].get(place).copied());
    let asset = asset.ok_or_else(|| Refused::not_found("There is no such file."))?;
    // The path names the contents: they never change.
    let headers = [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}

fn path(asset: &Asset) -> String {
    let hash = HEXLOWER.encode(&digest(&SHA256, asset.text.as_bytes()).as_ref()[..8]);
    format!("/console/static/{hash}/{}", asset.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_copy_button_is_kept_until_the_script_shows_it() {
        let rule = STYLE.text.lines().find(|line| line.starts_with(".copyable .copy[hidden]")).expect("a rule");
        assert!(rule.contains("visibility: hidden") && !rule.contains("display: none"), "{rule}");
        // Nothing else takes it away again.
        let gone = STYLE.text.lines().filter(|line| line.contains("[hidden]") && line.contains("display: none"));
        assert_eq!(gone.collect::<Vec<_>>(), ["button[hidden] { display: none; }"]);
    }
}
