//! The story the demo tells: its files and its commands.

use std::path::Path;

use anyhow::Result;

/// A few commands that show one thing.
pub(super) struct Scene {
    pub(super) title: &'static str,
    pub(super) steps: &'static [Step],
}

/// One command, as words.
#[derive(Debug)]
pub(super) enum Step {
    /// Does what it says.
    Works(&'static [&'static str]),
    /// Is refused, which is the point.
    Refused(&'static [&'static str]),
    /// Asks the gateway for a path.
    Fetches(&'static str),
    /// Asks a host of the gateway for a path.
    Asks(&'static str, &'static str),
    /// Asks for a path from many clients while the alias behind it moves.
    Storms(&'static str),
    /// Replaces words in a file.
    Edits(&'static str, &'static str, &'static str),
}

use Step::{Asks, Edits, Fetches, Refused, Storms, Works};

/// The files of a small app.
const SHOP: &[(&str, &str)] = &[
    ("shop/folio.yaml", include_str!("../../../../examples/shop/folio.yaml")),
    ("shop/functions/prices.js", include_str!("../../../../examples/shop/functions/prices.js")),
    ("shop/functions/greet.py", include_str!("../../../../examples/shop/functions/greet.py")),
    ("shop/site/index.html", include_str!("../../../../examples/shop/site/index.html")),
    ("shop/site/style.css", include_str!("../../../../examples/shop/site/style.css")),
];

/// Writes the files that the story publishes.
pub(super) fn write_files(directory: &Path) -> Result<()> {
    for (number, greeting) in [(1, "hello"), (2, "hello, world"), (3, "hello, everybody")] {
        let code = format!(
            "module.exports = async () => ({{\n  status: 200,\n  body: \"{greeting}\\n\",\n}});\n"
        );
        std::fs::create_dir_all(directory.join(number.to_string()))?;
        std::fs::write(directory.join(format!("{number}/hello.js")), code)?;
    }
    for (path, text) in SHOP {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        std::fs::write(path, text)?;
    }
    std::fs::create_dir_all(directory.join("greeter/lib"))?;
    std::fs::write(
        directory.join("greeter/main.js"),
        "const { greet } = require(\"./lib/greet\");\n\
         module.exports = async () => ({ status: 200, body: greet(\"you\") });\n",
    )?;
    std::fs::write(
        directory.join("greeter/lib/greet.js"),
        "exports.greet = (name) => `welcome, ${name}\\n`;\n",
    )?;
    Ok(())
}

/// What one can do after the story.
pub(super) const WHAT_NEXT: &str = "
# That was it, and all of it is gone. To begin for real:
folio serve                 # keeps everything in ~/.local/share/folio
folio fn version create hello --env nodejs --code hello.js
folio invoke hello
folio --help
";

/// The story, in order.
pub(super) const SCENES: &[Scene] = &[
    Scene {
        title: "Every deploy is a version that never changes.",
        steps: &[
            Works(&publish("1/hello.js", "v1.0.0")),
            Works(&publish("2/hello.js", "v1.0.1")),
            Works(&publish("3/hello.js", "v1.0.2")),
            Works(&["fn", "version", "list", "hello"]),
            Works(&["fn", "version", "diff", "hello@v1.0.0", "hello@v1.0.1"]),
        ],
    },
    Scene {
        title: "An alias points at a version, and what it points at cannot be deleted.",
        steps: &[
            Works(&["fn", "alias", "create", "hello", "--alias", "qa", "--version", "v1.0.1"]),
            Refused(&["fn", "version", "delete", "hello@v1.0.1"]),
        ],
    },
    Scene {
        title: "Moving it is a deploy, moving it back is a rollback; both say who, when and why.",
        steps: &[
            Works(&[
                "fn",
                "alias",
                "update",
                "hello",
                "--alias",
                "qa",
                "--version",
                "v1.0.1=90%",
                "--version",
                "v1.0.2=10%",
                "--reason",
                "try it on a few",
            ]),
            Works(&["fn", "alias", "rollback", "hello", "--alias", "qa", "--reason", "too loud"]),
            Works(&["fn", "alias", "history", "hello", "--alias", "qa"]),
        ],
    },
    Scene {
        title: "Every version can be called, by every name it has.",
        steps: &[
            Works(&["invoke", "hello@1"]),
            Works(&["invoke", "hello@v1.0.1"]),
            Works(&["invoke", "hello@qa"]),
            Works(&["invoke", "hello"]),
        ],
    },
    Scene {
        title: "A route leads requests to a reference. Moving the alias moves them, and none is lost.",
        steps: &[
            Works(&[
                "route",
                "create",
                "--name",
                "hello",
                "--url",
                "/hello",
                "--function",
                "hello",
                "--alias",
                "qa",
            ]),
            Fetches("/hello"),
            Works(&["fn", "alias", "update", "hello", "--alias", "qa", "--version", "v1.0.0"]),
            Fetches("/hello"),
            Storms("/hello"),
            Works(&["top"]),
        ],
    },
    Scene {
        title: "A package is shared by functions. Only what is new is uploaded.",
        steps: &[
            Works(&[
                "pkg",
                "version",
                "create",
                "greeter",
                "--env",
                "nodejs",
                "--deploy",
                "greeter",
                "--version",
                "one",
            ]),
            Works(&[
                "pkg",
                "version",
                "update",
                "greeter",
                "--deploy",
                "greeter",
                "--version",
                "two",
                "--description",
                "the same files, stored once",
            ]),
            Works(&[
                "fn",
                "version",
                "create",
                "welcome",
                "--pkg",
                "greeter",
                "--version",
                "two",
                "--entrypoint",
                "main",
            ]),
            Works(&["pkg", "version", "list", "greeter"]),
            Works(&["gc", "--stats"]),
        ],
    },
    Scene {
        title: "The app has a history of its own, and a log. Anything can be taken back.",
        steps: &[
            Works(&["app", "list-version"]),
            Works(&["fn", "delete", "welcome", "--reason", "oops"]),
            Works(&["undo"]),
            Works(&["fn", "list"]),
            Works(&["log", "--limit", "5"]),
        ],
    },
    Scene {
        title: "One file says what an app is: here a site, and an API in two languages.",
        steps: &[
            Works(&["app", "create", "shop"]),
            Works(DEPLOY),
            Asks("shop.localhost", "/"),
            Asks("shop.localhost", "/api/prices"),
            Asks("shop.localhost", "/api/greet?name=ada"),
        ],
    },
    Scene {
        title: "Every deploy is a release: site and API change together, and a tag keeps what was.",
        steps: &[
            Works(&["--app", "shop", "release", "tag", "live", "autumn"]),
            Edits("shop/site/index.html", "Apples and pears", "Oranges"),
            Edits("shop/functions/prices.js", "apples: 3, pears: 4", "oranges: 5"),
            Works(DEPLOY),
            Asks("shop.localhost", "/"),
            Asks("autumn--shop.localhost", "/"),
            Asks("autumn--shop.localhost", "/api/prices"),
        ],
    },
    Scene {
        title: "Going back is one step for all of it.",
        steps: &[
            Works(&["--app", "shop", "rollback", "--reason", "no oranges today"]),
            Asks("shop.localhost", "/api/prices"),
            Works(&["--app", "shop", "release", "follow"]),
            Asks("shop.localhost", "/api/prices"),
        ],
    },
    Scene {
        title: "A plan says how many releases can be reached. What is tagged stays.",
        steps: &[
            Works(&["--app", "shop", "app", "plan", "set", "--releases", "2"]),
            Edits("shop/site/index.html", "Oranges", "Lemons"),
            Works(DEPLOY),
            Edits("shop/site/index.html", "Lemons", "Plums"),
            Works(DEPLOY),
            Works(&["--app", "shop", "release", "list", "--all"]),
            Asks("autumn--shop.localhost", "/"),
            Works(&["--app", "shop", "app", "list-version"]),
        ],
    },
];

const DEPLOY: &[&str] = &["--app", "shop", "deploy", "shop"];

const fn publish(file: &'static str, id: &'static str) -> [&'static str; 10] {
    ["fn", "version", "create", "hello", "--env", "nodejs", "--code", file, "--version", id]
}
