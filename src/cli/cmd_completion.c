/* tenfold completion bash|zsh: a script for the shell, made from the tables of commands and options. */
#include "cli/commands.h"
#include "cli/output.h"

#include "base/buffer.h"

#include <string.h>

/* Options whose values are keys or quantities. */
#define KEYS                                                                                                 \
    "    --set) values=$(tenfold list keys 2>/dev/null | sed 's/$/=/') ;;\n"                                 \
    "    --x|--y|--colour|--sort|--columns|--objective) values=$(tenfold list quantities 2>/dev/null) ;;\n"

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

static void put_values_of(const char *command, const tn_command *this_command, tn_buffer *out) {
    for (size_t k = 0; k < this_command->options; k++) {
        const char *cursor = this_command->option[k].argument;
        if (!cursor || !strchr(cursor, '|')) continue;
        tn_buffer_format(out, "    '%s %s') values='", command, this_command->option[k].name);
        for (size_t length; *cursor; cursor += length + (cursor[length] == '|')) {
            length = strcspn(cursor, "|");
            if (*cursor >= 'A' && *cursor <= 'Z') continue; /* ID, FOLDER: stands for something */
            tn_buffer_bytes(out, cursor, length);
            tn_buffer_text(out, " ");
        }
        tn_buffer_text(out, "' ;;\n");
    }
}

/* Values of options that are one of a few, by command and option, and of arguments, by command: both shells read these. */
static void put_values(tn_buffer *out) {
    for (size_t i = 0; i < tn_commands_count; i++) {
        put_values_of(tn_commands[i]->name, tn_commands[i], out);
        for (size_t k = 0; k < tn_commands[i]->parts; k++)
            put_values_of(tn_commands[i]->name, tn_commands[i]->part[k], out);
    }
}

static void put_argument_values(tn_buffer *out) {
    tn_buffer_text(
        out,
        "    cost|validate|rtl|ranks|compare|train|export) values=$(tenfold list models 2>/dev/null) ;;\n"
        "    sweep|accuracy|slurm) values=$(tenfold list spaces 2>/dev/null) ;;\n"
        "    finetune) values=$(tenfold list models 2>/dev/null) ;;\n"
        "    technique) values=$(tenfold list techniques --json 2>/dev/null | sed -n 's/.*\"use\": \"tenfold "
        "technique \\([a-z-]*\\)\".*/\\1/p') ;;\n"
        "    list) values='models devices spaces flows formats techniques keys quantities gpus' ;;\n"
        "    completion) values='bash zsh' ;;\n");
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
             "    --device|--fpga|--gpu) values=$(tenfold list devices 2>/dev/null) ;;\n" KEYS "  esac\n"
             "  case \"$command $before\" in\n");
    put_values(out);
    tn_buffer_text(out, "  esac\n"
                        "  if [ -n \"$values\" ]; then\n"
                        "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n    return\n  fi\n"
                        "  case \"$command ${COMP_WORDS[2]}\" in\n");
    put_cases(out);
    tn_buffer_text(out, "  esac\n"
                        "  case \"$command\" in\n");
    put_argument_values(out);
    tn_buffer_text(
        out,
        "  esac\n"
        "  case \"$word\" in\n"
        "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
        "    *) COMPREPLY=($(compgen -W \"$words $values\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
        "  esac\n"
        "}\n"
        "complete -o filenames -F _tenfold tenfold\n");
}

/* ---- zsh ---- */

/* 'NAME:what it is' for zsh's _describe, between single quotes; in the name a colon would end it. */
static void put_described(const char *name, const char *help, tn_buffer *out) {
    tn_buffer_format(out, " '%s:", name);
    for (; *help; help++) tn_buffer_text(out, *help == '\'' ? "'\\''" : (char[]){*help, 0});
    tn_buffer_text(out, "'");
}

static void describe_options(const tn_command *command, tn_buffer *out) {
    for (size_t i = 0; i < command->options; i++)
        put_described(command->option[i].name, command->option[i].help, out);
    put_described("--json", "print one JSON object and nothing else", out);
    put_described("--quiet", "no progress on standard error", out);
    put_described("--help", "show what the command takes", out);
}

/* What may stand behind each command: options, and its parts. */
static void describe_cases(tn_buffer *out) {
    for (size_t i = 0; i < tn_commands_count; i++) {
        const tn_command *command = tn_commands[i];
        for (size_t k = 0; k < command->parts; k++) {
            tn_buffer_format(out, "    '%s %s') words_of=(", command->name,
                             last_word(command->part[k]->name));
            describe_options(command->part[k], out);
            tn_buffer_text(out, ") ;;\n");
        }
        tn_buffer_format(out, "    '%s '*) words_of=(", command->name);
        describe_options(command, out);
        tn_buffer_text(out, ")");
        if (command->parts) tn_buffer_text(out, "; parts=(");
        for (size_t k = 0; k < command->parts; k++)
            put_described(last_word(command->part[k]->name), command->part[k]->summary, out);
        tn_buffer_text(out, command->parts ? ") ;;\n" : " ;;\n");
    }
}

static void put_zsh(tn_buffer *out) {
    tn_buffer_text(out, "#compdef tenfold\n# zsh completion of tenfold; made by `tenfold completion zsh`\n"
                        "_tenfold() {\n  local -a commands words_of parts\n  local values=''\n  commands=(");
    put_described("help", "what a command takes", out);
    for (size_t i = 0; i < tn_commands_count; i++)
        put_described(tn_commands[i]->name, tn_commands[i]->summary, out);
    tn_buffer_text(out, ")\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
                        "  case \"$words[CURRENT-1]\" in\n"
                        "    --device|--fpga|--gpu) values=$(tenfold list devices 2>/dev/null) ;;\n" KEYS
                        "  esac\n"
                        "  case \"$words[2] $words[CURRENT-1]\" in\n");
    put_values(out);
    tn_buffer_text(out, "  esac\n  if [[ -n $values ]]; then\n    compadd -- ${=values}\n    return\n  fi\n"
                        "  case \"$words[2] $words[3]\" in\n");
    describe_cases(out);
    tn_buffer_text(out, "  esac\n  case \"$words[2]\" in\n");
    put_argument_values(out);
    tn_buffer_text(
        out, "    help) _describe command commands ;;\n  esac\n"
             "  [[ -z $values ]] || compadd -- ${=values}\n"
             "  if (( CURRENT == 3 && $#parts )); then\n    _describe part parts\n    return\n  fi\n"
             "  [[ $words[CURRENT] != -* ]] || _describe -o option words_of\n"
             "  _files\n}\n"
             "# Loaded by itself from a folder of functions, this file is the function; sourced, it is given "
             "to compdef.\n"
             "if [[ $funcstack[1] == _tenfold ]]; then _tenfold \"$@\"; else compdef _tenfold tenfold; fi\n");
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

static const tn_column scripts_keys[] = {
    TN_ANSWER_LIST("bash", "string", TN_OPTIONAL),
    TN_ANSWER_LIST("zsh", "string", TN_OPTIONAL),
};
static const tn_record scripts_record = {.column = scripts_keys,
                                         .columns = sizeof scripts_keys / sizeof *scripts_keys};

const tn_command tn_command_completion = {
    .name = "completion",
    .summary = "print the completion script of a shell, bash or zsh",
    .usage = "bash|zsh",
    .arguments = {1, 1},
    TN_ANSWERS(&scripts_record),
    .answer = answer,
};
