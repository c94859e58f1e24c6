//! `CODEOWNERS` by GitHub's own rules, and who is asked.

use std::path::{Path, PathBuf};

use lifecycle::maintain::{Codeowners, LabelRule, Owner, OwnerRule, Routes, Signal, Taxonomy};
use proptest::prelude::*;
use pulls::Login;
use pulls::upkeep::{ChangedFile, CodeownersFile};

fn file(text: &str) -> CodeownersFile {
    CodeownersFile {
        path: "CODEOWNERS".to_owned(),
        text: text.to_owned(),
    }
}

fn login(name: &str) -> Login {
    name.parse().expect("a test names a valid login")
}

fn changed(path: &str, lines: u64) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        additions: lines,
        deletions: 0,
    }
}

/// The owners of a path in one line: `-` where no line matches, nothing where the line names nobody.
fn owners(parsed: &Codeowners, path: &str) -> String {
    match parsed.of(path) {
        None => "-".to_owned(),
        Some((_, owners)) => {
            let names: Vec<String> = owners.iter().map(Owner::to_string).collect();
            names.join(" ")
        }
    }
}

#[track_caller]
fn check_file(case: &str, text: &str, expected: &[(&str, &str)]) {
    let (parsed, bad) = Codeowners::parse(&file(text));
    assert_eq!(bad, [], "{case}");
    for (path, names) in expected {
        assert_eq!(owners(&parsed, path), *names, "{case}: {path}");
    }
}

#[test]
fn patterns() {
    // Its name, the pattern, paths and whether it matches them.
    type Case = (&'static str, &'static str, &'static [(&'static str, bool)]);
    let cases: &[Case] = &[
        (
            "everything",
            "*",
            &[("a", true), ("a/b/c.rs", true), (".env", true)],
        ),
        (
            "an ending at any depth",
            "*.js",
            &[
                ("a.js", true),
                ("x/y/a.js", true),
                ("a.jsx", false),
                ("x.js/deep", true),
            ],
        ),
        (
            "a name at any depth",
            "Makefile",
            &[("Makefile", true), ("x/Makefile", true), ("Makefile.am", false)],
        ),
        (
            "a folder at any depth",
            "docs/",
            &[
                ("docs/a", true),
                ("x/docs/a/b", true),
                ("docs", false),
                ("xdocs/a", false),
            ],
        ),
        (
            "a folder of the root",
            "/apps/",
            &[("apps/a", true), ("apps/x/y", true), ("x/apps/a", false)],
        ),
        (
            "a folder without its slash",
            "/apps",
            &[("apps", true), ("apps/x/y", true), ("apps2/x", false)],
        ),
        (
            "an inner slash anchors",
            "apps/github",
            &[
                ("apps/github", true),
                ("apps/github/x", true),
                ("x/apps/github", false),
            ],
        ),
        (
            "an inner slash anchors a folder",
            "apps/github/",
            &[("apps/github/x", true), ("x/apps/github/x", false)],
        ),
        (
            "files of a folder alone",
            "/docs/*",
            &[
                ("docs/a.md", true),
                ("docs/x/a.md", false),
                ("x/docs/a.md", false),
            ],
        ),
        (
            "the same without a leading slash",
            "docs/*",
            &[("docs/a.md", true), ("docs/x/a.md", false)],
        ),
        (
            "files of the root alone",
            "/*",
            &[("a.md", true), ("x/a.md", false)],
        ),
        (
            "an ending in one folder",
            "/docs/*.md",
            &[("docs/a.md", true), ("docs/x/a.md", false)],
        ),
        (
            "dot files and dot folders of the root",
            "/.*",
            &[
                (".env", true),
                (".ci/x/y", true),
                ("x/.env", false),
                ("env", false),
            ],
        ),
        (
            "any folder before",
            "**/logs",
            &[
                ("logs", true),
                ("x/logs/a", true),
                ("x/y/logs", true),
                ("x/mylogs", false),
            ],
        ),
        (
            "any folder between",
            "/a/**/b",
            &[
                ("a/b", true),
                ("a/x/b", true),
                ("a/x/y/b/c", true),
                ("z/a/b", false),
            ],
        ),
        (
            "everything below",
            "/a/**",
            &[("a/b", true), ("a/b/c", true), ("a", false)],
        ),
        (
            "a star stays in its segment",
            "/a/*/c",
            &[
                ("a/b/c", true),
                ("a/b/c/d", true),
                ("a/b/x/c", false),
                ("a/c", false),
            ],
        ),
        (
            "one sign",
            "/a?.rs",
            &[("ab.rs", true), ("a.rs", false), ("a/.rs", false)],
        ),
        ("case counts", "/Docs/", &[("Docs/a", true), ("docs/a", false)]),
        (
            "an escaped space",
            "/my\\ docs/",
            &[("my docs/a", true), ("my/a", false)],
        ),
        (
            "braces are letters",
            "/{a,b}.rs",
            &[("{a,b}.rs", true), ("a.rs", false), ("b.rs", false)],
        ),
        ("a # inside a word", "/a#b", &[("a#b", true), ("a", false)]),
        (
            "signs that mean something elsewhere",
            "/a+(b)^$|.rs",
            &[("a+(b)^$|.rs", true)],
        ),
        ("letters beyond ASCII", "/größe/", &[("größe/x", true)]),
        ("the root", "/", &[("a", true), ("a/b", true)]),
    ];
    for (case, pattern, paths) in cases {
        let (parsed, bad) = Codeowners::parse(&file(&format!("{pattern} @a\n")));
        assert_eq!(bad, [], "{case}");
        for (path, matches) in *paths {
            assert_eq!(parsed.of(path).is_some(), *matches, "{case}: {pattern} on {path}");
        }
    }
}

#[test]
fn lines() {
    check_file(
        "the last match counts, whole",
        "* @a @b\n/x/ @c\n",
        &[("y", "@a @b"), ("x/y", "@c")],
    );
    check_file(
        "a general line after a special one",
        "/x/y @a\n/x @b\n",
        &[("x/y", "@b"), ("x/z", "@b")],
    );
    check_file(
        "a line without owners takes them away",
        "/x/ @a\n/x/y\n",
        &[("x/z", "@a"), ("x/y", "")],
    );
    check_file(
        "comments",
        "# * @a\n\n   # more\n/x @a # @b\n/y # nobody, @c\n/z\t@d\t@e  \r\n",
        &[("x", "@a"), ("y", ""), ("z", "@d @e"), ("w", "-")],
    );
    check_file(
        "teams have one form",
        "/x @Ann @Org/Team a.mail@example.org\n",
        &[("x", "@Ann @org/team")],
    );
    check_file("a mail address alone", "* @a\n/x ann@example.org\n", &[("x", "")]);
    check_file("nothing", "", &[("x", "-")]);
    check_file("a mark of bytes", "\u{feff}/x @a\n", &[("x", "@a")]);
}

#[test]
fn a_line_that_github_does_not_understand_is_left_out_and_reported() {
    for line in [
        "!/x @b",
        "/x[0-9] @b",
        "/x] @b",
        "\\#x @b",
        "/x ann",
        "/x @b and more",
        "/x @b/c/d",
        "/x @/c",
        "/x @c/",
        "/x @",
    ] {
        let (parsed, bad) = Codeowners::parse(&file(&format!("/x @a\n{line}\n/y @c\n")));
        assert_eq!(bad.len(), 1, "{line}");
        assert_eq!(bad[0].line, 2, "{line}");
        assert_eq!(owners(&parsed, "x"), "@a", "{line}: the rest holds");
        assert_eq!(parsed.of("y").map(|(line, _)| line), Some(3), "{line}");
    }
    let large = format!("* @a\n{}", "#\n".repeat(2 * 1024 * 1024));
    let (parsed, bad) = Codeowners::parse(&file(&large));
    assert_eq!((bad.len(), owners(&parsed, "x")), (1, "-".to_owned()));
}

#[expect(clippy::disallowed_methods, reason = "where the shared data lies")]
fn shared() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    std::env::var_os("SWEEP_SHARED").map_or_else(beside, PathBuf::from)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "files beside the workspace are read where they lie"
)]
fn files_of_big_projects() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "cpython",
            &[
                ("Lib/pdb.py", "@owner-r"),
                ("x/Lib/pdb.py", "-"),
                (".mailmap", ""),
                ("Lib/.mailmap", ""),
                ("Lib/test/test_email.py", "@example-org/email-team"),
                ("configure.ac", "@owner-e @owner-f @owner-a"),
                ("x/configure", "@owner-e @owner-f @owner-a"),
                ("Python/import.c", "@owner-i @owner-j @owner-k @owner-l"),
                ("Lib/importlib/abc.py", "@owner-i @owner-j @owner-k"),
                ("Modules/clinic/timemodule.c.h", ""),
                ("Modules/_io/clinic/x.c.h", ""),
                ("Modules/timemodule.c", "@owner-p @owner-q"),
                ("Modules/_x/timemodule.c", "-"),
                ("PC/launcher.c", "@example-org/windows-team @owner-o"),
                ("PC/clinic/x.h", ""),
                ("Lib/test/test_multiprocessing_fork/x.py", "@owner-n"),
                ("Doc/library/time.rst", "@owner-p @owner-q"),
                ("README.rst", "-"),
            ],
        ),
        (
            "vllm",
            &[
                ("vllm/multimodal/media/x.py", "@owner-o"),
                ("vllm/multimodal/x.py", "@owner-m @owner-n @owner-e"),
                ("vllm/utils/argparse_utils.py", ""),
                ("vllm/entrypoints/speech_to_text/realtime/x.py", "@owner-e"),
                ("vllm/entrypoints/serve/sagemaker/x.py", "@owner-x"),
                ("vllm/entrypoints/llm.py", "@owner-m"),
                ("vllm/entrypoints/api.py", "@owner-x"),
                ("vllm/entrypoints/openai/api.py", "-"),
                (".buildkite/test_areas/rust.yaml", "@owner-z @owner-aa"),
                ("vllm/x/y/rocm_ops/z.py", "@owner-ae @owner-af"),
                ("vllm/rocm.py", "@owner-ae @owner-af"),
                ("docs/a.yml", "@owner-w"),
                ("x/mkdocs.yaml", "@owner-w"),
                ("vllm/models/qwen/amd/x.py", "@owner-ae @owner-af"),
                ("vllm/v1/worker/cpu_worker.py", "@owner-ab @owner-ac"),
                ("tests/models/x/y/pooling/z.py", "@owner-m @owner-n"),
            ],
        ),
        (
            "cockroach",
            &[
                ("pkg/sql/x.go", "-"),
                ("pkg/sql/opt/x.go", "@example-org/sql-queries-prs"),
                (
                    "pkg/sql/opt/exec/execbuilder/testdata/x",
                    "@example-org/sql-queries-prs",
                ),
                ("pkg/sql/appstatspb/x.go", "@example-org/cluster-observability"),
                ("pkg/sql/execstats/x.go", "@example-org/cluster-observability"),
                ("pkg/sql/exec_log.go", "@example-org/sql-queries-prs"),
                (
                    "pkg/cli/debug_job_trace_x.go",
                    "@example-org/jobs-prs @example-org/disaster-recovery",
                ),
                (
                    "pkg/server/status_x.go",
                    "@example-org/obs-inf-prs @example-org/server-prs",
                ),
                (
                    "pkg/server/auto_tls_init_test.go",
                    "@example-org/prodsec @example-org/server-prs",
                ),
                (".github/CODEOWNERS", "@example-org/dev-inf"),
                ("x/Makefile", "-"),
            ],
        ),
        (
            "pytorch",
            &[
                ("test/functorch/test_ops.py", "@owner-a @owner-b @owner-c"),
                ("test/functorch/test_aotdispatch.py", "@owner-d @Owner-B"),
                ("test/functorch/other.py", "-"),
                ("aten/src/ATen/native/LinearAlgebra.cpp", "@owner-i @owner-j"),
                (
                    "aten/src/ATen/native/cuda/BatchLinearAlgebra.cu",
                    "@owner-i @owner-j",
                ),
                ("torch/_functorch/_aot_autograd/x.py", "@owner-e @owner-f"),
                ("torch/_functorch/_aot_autograd/sub/x.py", "-"),
                ("torch/csrc/shim_common.cpp", "@owner-m"),
                ("torch/csrc/Storage.cpp", "-"),
            ],
        ),
        (
            "sentry",
            &[
                ("x/Makefile", "@example-org/owners-dev @example-org/dev-infra"),
                ("static/package.json", "@example-org/owners-js-deps"),
                ("tsconfig.base.json", "@example-org/owners-js-build"),
                (".github/workflows/frontend.yml", "@example-org/owners-dev"),
                (".github/labels.yml", "@example-org/dev-infra"),
                ("x/build-utils/y.js", "@example-org/owners-js-build"),
                ("tests/snuba/api/endpoints/x.py", "@example-org/visibility"),
                ("tests/snuba/api/endpoints/deep/x.py", "-"),
                ("static/app/views/alerts/rules/uptime/x.tsx", "@example-org/crons"),
                ("static/app/views/alerts/rules/x.tsx", "@example-org/alerts"),
            ],
        ),
        (
            "azure-sdk",
            &[
                ("sdk/core/corehttp/x.py", "@owner-a @owner-d"),
                ("sdk/core/azure-core/x.py", "@owner-a @owner-d @owner-e"),
                (
                    "sdk/attestation/azure-security-attestation/x",
                    "@owner-h @example-org/azure-sdk-write-attestation @owner-i",
                ),
                (
                    "sdk/communication/a/b/_shared/x.py",
                    "@Owner-K @example-org/acs-identity-sdk",
                ),
                (
                    "sdk/communication/_shared/x.py",
                    "@Owner-K @example-org/acs-identity-sdk",
                ),
                ("sdk/communication/x.py", "@owner-j"),
                (
                    "sdk/contentunderstanding/x.py",
                    "@owner-n @owner-q @owner-r @owner-o",
                ),
                ("sdk/iothub/azure-iot-deviceprovisioning/x", "@owner-l @owner-m"),
                ("sdk/other/x", "@owner-a @owner-b"),
                ("README.md", "-"),
            ],
        ),
        (
            "datadog-agent",
            &[
                ("LICENSE-3rdparty.csv", ""),
                (".mockery.yaml", ""),
                (".github/CODEOWNERS", ""),
                (".github/x.yml", "@example-org/agent-devx"),
                ("x/y/BUILD.bazel", "@example-org/agent-build"),
                ("BUILD.bazel", "@example-org/agent-build"),
                (
                    ".github/workflows/serverless-benchmarks.yml",
                    "@example-org/serverless @example-org/serverless-aws",
                ),
                (
                    ".github/chainguard/self.cws-btfhub-sync.x",
                    "@example-org/agent-devx @example-org/agent-build",
                ),
                (
                    ".gitlab/kernel_matrix_testing/x.yml",
                    "@example-org/ebpf-platform",
                ),
                (
                    ".gitlab/kernel_matrix_testing/security_agent.yml",
                    "@example-org/agent-security",
                ),
                (".gitlab/deploy_x/y.yml", "@example-org/agent-delivery"),
                (
                    "cmd/agent/subcommands/remoteconfig/x.go",
                    "@example-org/remote-config",
                ),
                ("README.md", "@example-org/agent-devx"),
                ("x/README.md", "-"),
            ],
        ),
        (
            "nixpkgs",
            &[
                (
                    ".github/workflows/x.yml",
                    "@example-org/security @owner-a @owner-b",
                ),
                ("default.nix", "@Owner-F"),
                ("x/default.nix", "-"),
                ("pkgs/stdenv/generic/check-meta.nix", "@Owner-F @owner-h"),
                ("maintainers/scripts/update-python-libraries", "@owner-c"),
                ("pkgs/development/compilers/gcc/x.nix", ""),
                ("doc/development.md", "@owner-d"),
                ("doc/development/x.md", "@owner-d"),
                ("nixos/lib/systemd-lib.nix", "@example-org/systemd"),
                ("pkgs/by-name/lx/lxcfs/package.nix", "@owner-p"),
                ("x/pkgs/data/misc/cacert/default.nix", "-"),
            ],
        ),
    ];
    for (name, expected) in cases {
        let path = shared().join(format!("data/codeowners/{name}.CODEOWNERS"));
        match std::fs::read_to_string(&path) {
            Ok(text) => check_file(name, &text, expected),
            Err(_) => println!("skipped: no {name}.CODEOWNERS in the shared data"),
        }
    }
}

fn rule(globs: &[&str], owners: &[&str], signal: Signal) -> OwnerRule {
    let owner = |name: &&str| match name.contains('/') {
        true => Owner::Team((*name).to_owned()),
        false => Owner::User(login(name)),
    };
    OwnerRule {
        globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        owners: owners.iter().map(owner).collect(),
        signal,
    }
}

fn routes(text: &str, rules: &[OwnerRule]) -> Routes {
    Routes::compile(Some(&file(text)), rules)
        .expect("the globs are good")
        .0
}

#[test]
fn who_is_asked() {
    let module = || rule(&["src/kv/**"], &["moa"], Signal::Module);
    let model = || rule(&["src/**/qwen*"], &["quinn"], Signal::Model);
    // Its name, the file, the rules, files with their lines, who is asked, and why.
    type Case<'a> = (
        &'a str,
        &'a str,
        &'a [OwnerRule],
        &'a [(&'a str, u64)],
        Option<&'a str>,
        &'a str,
    );
    let cases: &[Case<'_>] = &[
        (
            "the most lines",
            "/a @ann\n/b @ben\n",
            &[],
            &[("a/x", 5), ("b/x", 3), ("b/y", 3)],
            Some("@ben"),
            "CODEOWNERS line 2",
        ),
        (
            "a renamed file counts as one line",
            "/a @ann\n",
            &[],
            &[("a/x", 0)],
            Some("@ann"),
            "CODEOWNERS line 1",
        ),
        (
            "the author is passed over",
            "/a @author @ben\n",
            &[],
            &[("a/x", 5)],
            Some("@ben"),
            "CODEOWNERS line 1",
        ),
        (
            "the author in other letters",
            "/a @Author\n",
            &[],
            &[("a/x", 5)],
            None,
            "only its author owns what it changes",
        ),
        (
            "a person before a team",
            "/a @org/team\n/b @ben\n",
            &[],
            &[("a/x", 500), ("b/x", 1)],
            Some("@ben"),
            "CODEOWNERS line 2",
        ),
        (
            "a team where there is no person",
            "/a @org/team @author\n",
            &[],
            &[("a/x", 5)],
            Some("@org/team"),
            "CODEOWNERS line 1",
        ),
        (
            "of equals who stands first",
            "/a @zoe @ann\n",
            &[],
            &[("a/x", 5)],
            Some("@zoe"),
            "CODEOWNERS line 1",
        ),
        (
            "one named twice on a line counts once",
            "/a @ann @ann\n/b @ben\n",
            &[],
            &[("a/x", 5), ("b/x", 6)],
            Some("@ben"),
            "CODEOWNERS line 2",
        ),
        (
            "one in two capitalisations is one",
            "/a @Org/One\n/b @org/one\n/c @org/two\n",
            &[],
            &[("a/x", 4), ("b/x", 4), ("c/x", 6)],
            Some("@org/one"),
            "CODEOWNERS line 1",
        ),
        (
            "CODEOWNERS before rules",
            "/src/kv @ann\n",
            &[module(), model()],
            &[("src/kv/qwen.rs", 5)],
            Some("@ann"),
            "CODEOWNERS line 1",
        ),
        (
            "a module before a model, whatever their weight and order",
            "",
            &[model(), module()],
            &[("src/m/qwen.rs", 500), ("src/kv/x.rs", 1)],
            Some("@moa"),
            "module src/kv/**",
        ),
        (
            "a model",
            "",
            &[module(), model()],
            &[("src/m/qwen.rs", 5)],
            Some("@quinn"),
            "model src/**/qwen*",
        ),
        (
            "the next way where the first leads to the author alone",
            "/src @author\n",
            &[module()],
            &[("src/kv/x.rs", 5)],
            Some("@moa"),
            "module src/kv/**",
        ),
        (
            "the next way where a line takes owners away",
            "* @ann\n/src/kv/\n",
            &[module()],
            &[("src/kv/x.rs", 5)],
            Some("@moa"),
            "module src/kv/**",
        ),
        (
            "nobody",
            "/a @ann\n",
            &[module()],
            &[("b", 5)],
            None,
            "nobody owns what it changes",
        ),
        (
            "no files",
            "* @ann\n",
            &[],
            &[],
            None,
            "nobody owns what it changes",
        ),
    ];
    for (case, text, rules, files, owner, reason) in cases {
        let files: Vec<ChangedFile> = files.iter().map(|(path, lines)| changed(path, *lines)).collect();
        let found = routes(text, rules).assign(Some(&login("author")), &files);
        let name = found.owner.map(|owner| owner.to_string());
        assert_eq!(
            (name.as_deref(), found.reason.as_str()),
            (*owner, *reason),
            "{case}"
        );
    }
}

#[test]
fn two_rules_of_one_owner_count_a_file_once() {
    let rules = [
        rule(&["src/**"], &["ann"], Signal::Module),
        rule(&["src/kv/**"], &["ann"], Signal::Module),
        rule(&["lib/**"], &["ben"], Signal::Module),
    ];
    let files = [changed("src/kv/x", 5), changed("lib/x", 6)];
    let found = routes("", &rules).assign(None, &files);
    assert_eq!(found.owner, Some(Owner::User(login("ben"))));
}

#[test]
fn a_push_that_changes_no_owner_keeps_the_digest() {
    let routing = |text: &str, files: &[ChangedFile]| routes(text, &[]).assign(None, files);
    let text = "/a @ann\n/b @ann\n/c @ben\n";
    let first = routing(text, &[changed("a/x", 5), changed("b/x", 1)]);
    let pushed = routing(text, &[changed("a/x", 5), changed("b/x", 50)]);
    assert_ne!(first.reason, pushed.reason);
    assert_eq!(first.digest, pushed.digest, "the same owner by another line");
    let edited = routing(&format!("# a new first line\n{text}"), &[changed("a/x", 5)]);
    assert_eq!(first.digest, edited.digest, "a comment above");
    let capitals = routing("/a @Ann\n", &[changed("a/x", 5)]);
    assert_eq!(first.digest, capitals.digest, "another capitalisation");
    let other = routing(text, &[changed("c/x", 5)]);
    assert_ne!(first.digest, other.digest, "another owner");
    let rules = [rule(&["a/**"], &["ann"], Signal::Module)];
    let module = routes("", &rules).assign(None, &[changed("a/x", 5)]);
    assert_ne!(first.digest, module.digest, "another way");
    assert_eq!(
        (first.digest.as_str(), module.digest.len()),
        ("b2e75776dab87b67", 16),
        "what is recorded in a ledger stays"
    );
}

proptest! {
    #[test]
    fn the_order_of_files_changes_no_routing(
        (files, shuffled) in proptest::collection::vec(("[abc]/[a-z]{1,3}", 0u64..40), 0..12)
            .prop_flat_map(|files| (Just(files.clone()), Just(files).prop_shuffle())),
    ) {
        let routes = routes("* @org/all\n/a @ann @ben\n/b @ben\n/b/x\n", &[rule(&["c/**"], &["cyn"], Signal::Module)]);
        let assigned = |files: &[(String, u64)]| {
            let files: Vec<ChangedFile> = files.iter().map(|(path, lines)| changed(path, *lines)).collect();
            routes.assign(Some(&login("ann")), &files)
        };
        prop_assert_eq!(assigned(&files), assigned(&shuffled));
    }

    /// One pass over all patterns finds what a walk from the last line up would.
    #[test]
    fn the_last_line_that_matches_counts(
        lines in proptest::collection::vec("/?[ab*]{1,2}(/[ab*]{1,2}){0,2}/?", 1..8),
        path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
    ) {
        let text: String = lines.iter().map(|line| format!("{line} @a\n")).collect();
        let (whole, _) = Codeowners::parse(&file(&text));
        let alone = |line: &String| Codeowners::parse(&file(&format!("{line} @a\n"))).0.of(&path).is_some();
        let last = lines.iter().rposition(alone).map(|at| at + 1);
        prop_assert_eq!(whole.of(&path).map(|(line, _)| line), last);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "([ -~]|[\\n\\t\\\\*/@#]){0,200}", path in "[ -~]{0,40}") {
        let (parsed, _) = Codeowners::parse(&file(&text));
        let _ = parsed.of(&path);
    }
}

#[test]
fn labels() {
    let taxonomy = Taxonomy::compile(&LabelRule::defaults()).expect("the defaults are good");
    let of = |paths: &[&str]| {
        let files: Vec<ChangedFile> = paths.iter().map(|path| changed(path, 1)).collect();
        taxonomy.infer(&files).join(", ")
    };
    for (case, paths, labels) in [
        ("nothing", &[][..], ""),
        ("something else", &["README.md"], ""),
        ("by folder", &["src/diffusion/x.py"], "diffusion"),
        ("by name", &["src/qwen_tts.py"], "tts"),
        (
            "each once, by the alphabet",
            &["x/tts/a.py", "x/tts/b.py", "x/diffusion/c.py"],
            "diffusion, tts",
        ),
        ("a new model", &["v/model_executor/models/x.py"], "new model"),
    ] {
        assert_eq!(of(paths), labels, "{case}");
    }
    assert_eq!(of(&["x/tts/a", "x/vla/a"]), of(&["x/vla/a", "x/tts/a"]));
}
