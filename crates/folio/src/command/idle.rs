//! Flags of Fission that have nothing to act on here. They are understood, so that scripts go on working, and each
//! one that is given is answered with a warning.

use clap::Args;

use crate::output;

/// Declares flags by the reason why they do nothing.
macro_rules! idle {
    ($(#[$doc:meta])* $name:ident { $($flag:ident [$($shape:tt)*] $why:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Args)]
        #[command(next_help_heading = "Flags of Fission without effect")]
        pub(crate) struct $name {
            $(
                #[arg(long, hide_short_help = true, value_name = "VALUE", $($shape)*)]
                #[arg(help = concat!("Has no effect: ", $why))]
                $flag: Option<String>,
            )*
        }

        impl $name {
            /// Says of each flag that is given that it does nothing.
            pub(crate) fn warn(&self) {
                $(if self.$flag.is_some() {
                    let (flag, why) = (stringify!($flag), $why);
                    output::talk(&format!("warning: --{flag} has no effect: {why}"));
                })*
            }
        }
    };
}

idle! {
    /// Of functions.
    FunctionIdle {
        executortype [] "folio starts all workers in one way";
        specializationtimeout [visible_alias = "st"] "a worker that loads no code in time fails its call";
        targetcpu [] "folio starts workers by requests, not by load";
        mincpu [] "folio limits processors, and reserves none";
        minmemory [] "folio limits memory, and reserves none";
        retainpods [] "--minscale says how many workers stay";
    }
}

idle! {
    /// Of environments.
    EnvironmentIdle {
        version [] "folio speaks every version of the contract";
        graceperiod [visible_alias = "period"] "the server decides how long workers may take to end";
        keeparchive [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
            "one file is handed over as it is, archives are unpacked";
        imagepullsecret [] "folio pulls no images";
        mincpu [] "functions say what their workers may use";
        maxcpu [] "functions say what their workers may use";
        minmemory [] "functions say what their workers may use";
        maxmemory [] "functions say what their workers may use";
    }
}

idle! {
    /// Of routes.
    RouteIdle {
        createingress [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
            "folio's gateway answers by itself";
        ingressrule [] "folio's gateway answers by itself";
        ingressannotation [overrides_with = "ingressannotation"] "folio's gateway answers by itself";
        ingresstls [] "the server is started with its certificate";
    }
}

idle! {
    /// Of triggers of messages.
    QueueIdle {
        mqtkind [] "the server itself reads the queue";
        pollinginterval [] "the queue sends messages by itself";
        cooldownperiod [] "the server itself reads the queue";
        minreplicacount [] "every server has one reader";
        metadata [overrides_with = "metadata"] "the server knows its queue";
        secret [] "the server knows its queue";
    }
}
