import { product } from '../../subjects/kit/names.ts'

/** The first word of what the scripts of the shells ask, which no help has. */
export const completeCommand = 'complete'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** What a shell has to source. File names are suggested where there are no candidates. @param command as it is typed in any folder */
export const completionScript = (shell: Shell, command: string): string =>
  scripts[shell](`${command} ${completeCommand} --`)

/** By what asks for candidates. Shells take them for the program's name with a path before it too. */
const scripts: Readonly<Record<Shell, (ask: string) => string>> = {
  bash: (ask) => `_${product}() {
  local word _
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do COMPREPLY+=("$word"); done \\
    < <(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _${product} ${product}
`,
  zsh: (ask) => `#compdef ${product}
_${product}() {
  local line
  local -a candidates
  for line in "\${(@f)$(${ask} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  if (( $#candidates )); then _describe ${product} candidates; else _files; fi
}
compdef _${product} ${product}
`,
  fish: (ask) => `function __${product}_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (${ask} $words[2..] 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c ${product} -f -a '(__${product}_complete)'
`,
}

/** How each is put to use, as typed. */
export const completionExamples = (command: string): readonly string[] => [
  `echo 'source <(${command} completion bash)' >> ~/.bashrc`,
  `echo 'source <(${command} completion zsh)' >> ~/.zshrc`,
  `${command} completion fish > ~/.config/fish/completions/${product}.fish`,
]
