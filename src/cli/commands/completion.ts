// `holdfast completion`: the script by which a shell completes commands, options and ids. It calls `holdfast __complete` for each of them.
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

// Words are separated by spaces here, not by what bash takes for a separator: keys of sessions have colons.
const BASH = `# Completion of holdfast for bash: source <(holdfast completion bash)
_holdfast() {
  local line="\${COMP_LINE:0:COMP_POINT}"
  local -a words
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  local current="\${words[\${#words[@]} - 1]}"
  local IFS=$'\\n'
  COMPREPLY=($("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null | cut -f1))
  # bash replaces what follows the last colon.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
  fi
}
complete -o default -F _holdfast holdfast
`;

const ZSH = `#compdef holdfast
# Completion of holdfast for zsh: source <(holdfast completion zsh)
_holdfast() {
  local line
  local -a offers
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#offers} )) && _describe holdfast offers || _files
}
compdef _holdfast holdfast
`;

const FISH = `# Completion of holdfast for fish: holdfast completion fish | source
complete -c holdfast -f -a '(holdfast __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`;

/** The shells that are known. */
const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };

/** Prints the script. */
export function runCompletion(shell: keyof typeof SCRIPTS, terminal: Terminal): ExitCode {
  terminal.write(SCRIPTS[shell]);
  return EXIT.ok;
}
