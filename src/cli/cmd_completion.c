/* tenfold completion bash|zsh: a script for the shell, made from the tables of commands and options. */
#include "cli/commands.h"
#include "cli/output.h"

#include "base/buffer.h"

#include <string.h>

static void list_options(const tn_command *command, tn_buffer *out) {
    for (size_t i = 0; i < command->options; i++) tn_buffer_format(out, " %s", command->option[i].name);
    tn_buffer_text(out, " --json --quiet --help");
}

static const char *last_word(const char *name) {
    const char *space = strrchr(name, ' ');
    return space ? space + 1 : name;
}

/* `    plot) words='...';;` of each command, and `roofline fit)` of each part. */
static void put_cases(tn_buffer *out) {
    for (size_t i = 0; i < tn_commands_count; i++) {
        const tn_command *command = tn_commands[i];
        for (size_t k = 0; k < command->parts; k++) {
            tn_buffer_format(out, "    '%s %s') words='", command->name, last_word(command->part[k]->name));
            list_options(command->part[k], out);
            tn_buffer_text(out, "' ;;\n");
        }
        tn_buffer_format(out, "    '%s '*) words='", command->name);
        for (size_t k = 0; k < command->parts; k++)
            tn_buffer_format(out, " %s", last_word(command->part[k]->name));
        list_options(command, out);
        tn_buffer_text(out, "' ;;\n");
    }
    tn_buffer_text(out, "    'help '*) words=$commands ;;\n");
}

/* Values of options that are one of a few. */
static void put_values(tn_buffer *out) {
    for (size_t i = 0; i < tn_commands_count; i++)
        for (size_t k = 0; k < tn_commands[i]->options; k++) {
            const tn_option *option = &tn_commands[i]->option[k];
            if (!option->argument || !strchr(option->argument, '|')) continue;
            tn_buffer_format(out, "    '%s %s') values='", tn_commands[i]->name, option->name);
            for (const char *at = option->argument; *at; at++) tn_buffer_bytes(out, *at == '|' ? " " : at, 1);
            tn_buffer_text(out, "' ;;\n");
        }
}

static void put_bash(tn_buffer *out) {
    tn_buffer_text(
        out,
        "# bash completion of tenfold; made by `tenfold completion bash`\n"
        "_tenfold() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
        "words='' values=''\n  local commands='help");
    for (size_t i = 0; i < tn_commands_count; i++) tn_buffer_format(out, " %s", tn_commands[i]->name);
    tn_buffer_text(
        out, "'\n  COMPREPLY=()\n"
             "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "    COMPREPLY=($(compgen -W \"$commands --version --help\" -- \"$word\"))\n    return\n  fi\n"
             "  case \"$before\" in\n"
             "    --device|--fpga|--gpu) values=$(tenfold list devices 2>/dev/null) ;;\n  esac\n"
             "  case \"$command $before\" in\n");
    put_values(out);
    tn_buffer_text(out, "  esac\n"
                        "  if [ -n \"$values\" ]; then\n"
                        "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n    return\n  fi\n"
                        "  case \"$command ${COMP_WORDS[2]}\" in\n");
    put_cases(out);
    tn_buffer_text(
        out,
        "  esac\n"
        "  case \"$command\" in\n"
        "    cost|validate|rtl|ranks|compare|train) values=$(tenfold list models 2>/dev/null) ;;\n"
        "    sweep|accuracy) values=$(tenfold list spaces 2>/dev/null) ;;\n"
        "    list) values='models devices spaces flows formats techniques' ;;\n"
        "    completion) values='bash zsh' ;;\n"
        "  esac\n"
        "  case \"$word\" in\n"
        "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
        "    *) COMPREPLY=($(compgen -W \"$words $values\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
        "  esac\n"
        "}\n"
        "complete -o filenames -F _tenfold tenfold\n");
}

/* zsh reads the same by its emulation of bash. */
static void put_zsh(tn_buffer *out) {
    tn_buffer_text(out, "#compdef tenfold\nautoload -U +X bashcompinit && bashcompinit\n");
    put_bash(out);
}

static tn_status answer(void *asked, int *exit_status, tn_error *error) {
    tn_common *common = asked;
    const char *shell = common->argument[0];
    bool bash = strcmp(shell, "bash") == 0;
    tn_buffer out = {0};
    (void)exit_status;
    if (!bash && strcmp(shell, "zsh") != 0)
        return tn_fail(error, TN_INPUT,
                       "no completion for shell '%.60s'; there is one for bash and one for zsh", shell);
    if (bash)
        put_bash(&out);
    else
        put_zsh(&out);
    if (!common->json) return tn_output(&out, error);
    const char *script = out.data;
    tn_status status = tn_output_names(shell, &script, out.data ? 1 : 0, true, error);
    tn_buffer_free(&out);
    return status;
}

const tn_command tn_command_completion = {
    .name = "completion",
    .summary = "print the completion script of a shell, bash or zsh",
    .usage = "bash|zsh",
    .arguments = {1, 1},
    .answer = answer,
};
