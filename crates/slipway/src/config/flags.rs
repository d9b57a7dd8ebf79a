//! The flags, made from the table.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use super::setting::{Kind, SETTINGS, Setting, Unset};

/// What was said on the command line.
#[derive(Debug, Clone, Default)]
pub(super) struct Flags(Vec<(&'static Setting, String)>);

impl Flags {
    /// Each flag that was given, with its text.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static Setting, &str)> {
        self.0.iter().map(|(setting, text)| (*setting, text.as_str()))
    }

    #[cfg(test)]
    pub(super) fn of(given: &[(&str, &str)]) -> Self {
        Self(
            given
                .iter()
                .map(|(key, text)| (Setting::named(key).expect("it is a setting"), (*text).to_owned()))
                .collect(),
        )
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().filter_map(|setting| Some((setting, setting.flag?))).fold(
            command,
            |command, (setting, flag)| {
                let default = match setting.default {
                    Unset::Value(value) => format!(" [default: {value}]"),
                    _ => String::new(),
                };
                let help = format!("{}{default} [env: {}]", setting.help, setting.variable);
                let argument = Arg::new(setting.key)
                    .long(flag)
                    .value_name(setting.kind.placeholder())
                    .help(help)
                    .help_heading("Settings");
                command.arg(if setting.kind == Kind::Switch {
                    argument.num_args(0..=1).require_equals(true).default_missing_value("true")
                } else {
                    argument
                })
            },
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = SETTINGS
            .iter()
            .filter(|setting| setting.flag.is_some())
            .filter_map(|setting| Some((setting, matches.get_one::<String>(setting.key)?.clone())));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
