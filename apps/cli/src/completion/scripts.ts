// Completion scripts of the shells. Each script passes the words to `fairlead __complete`, which prints one candidate
// per line (value, tab, description) and a last line `:files`, `:folders` or `:` that names what else the shell may
// offer.
import { usageError } from '@fairlead/offline/command-error'

/** Returns the script of a shell. Throws a usage error that lists the shells. */
export function completionScript(shell: string): string {
  const script = scripts[shell]
  if (script === undefined)
    throw usageError(`there is no completion for ${shell}; there is for ${Object.keys(scripts).join(', ')}`)
  return script
}

const bash = `# bash completion for fairlead
_fairlead() {
  local word="\${COMP_WORDS[COMP_CWORD]}" line last="" candidate
  local -a lines=()
  # Readline breaks words at = and :, the command should not.
  local typed="\${COMP_LINE:0:COMP_POINT}"
  local -a words
  read -r -a words <<< "$typed"
  [[ "$typed" == *[[:space:]] ]] && words+=("")
  while IFS= read -r line; do lines+=("$line"); done < <("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null)
  [[ \${#lines[@]} -eq 0 ]] && return
  last="\${lines[\${#lines[@]}-1]}"
  unset 'lines[\${#lines[@]}-1]'
  local whole="\${words[\${#words[@]}-1]}"
  local prefix="\${whole%"$word"}"
  COMPREPLY=()
  for candidate in "\${lines[@]}"; do
    candidate="\${candidate%%$'\\t'*}"
    [[ "$candidate" == "$whole"* ]] && COMPREPLY+=("\${candidate#"$prefix"}")
  done
  case "$last" in
    :files) COMPREPLY+=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null ;;
    :folders) COMPREPLY+=($(compgen -d -- "$word")); compopt -o filenames 2>/dev/null ;;
  esac
  [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == */ ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _fairlead fairlead
`

const zsh = `#compdef fairlead
# zsh completion for fairlead
_fairlead() {
  local -a lines candidates
  local line last
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#lines} == 0 )) && return
  last="\${lines[-1]}"
  lines[-1]=()
  for line in "\${lines[@]}"; do
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#candidates} > 0 )) && _describe 'fairlead' candidates
  case "$last" in
    :files) _files ;;
    :folders) _files -/ ;;
  esac
}
if [ "$funcstack[1]" = "_fairlead" ]; then
  _fairlead "$@"
else
  compdef _fairlead fairlead
fi
`

const fish = `# fish completion for fairlead
function __fairlead_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete -- $words[2..-1] 2>/dev/null)
  test (count $lines) -eq 0; and return
  set -l last $lines[-1]
  for line in $lines[1..-2]
    echo $line
  end
  switch $last
    case :files
      __fish_complete_path (commandline -ct)
    case :folders
      __fish_complete_directories (commandline -ct)
  end
end
complete -c fairlead -f -a '(__fairlead_complete)'
`

const powershell = `# PowerShell completion for fairlead
Register-ArgumentCompleter -Native -CommandName fairlead -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  $command = $words[0]
  $words = @($words | Select-Object -Skip 1)
  if ($wordToComplete -eq '') { $words += '' }
  # Windows PowerShell drops empty arguments; the command takes the last word from here as well.
  $env:FAIRLEAD_COMPLETE_EMPTY = if ($wordToComplete -eq '') { '1' } else { '' }
  $lines = @(& $command __complete -- @words 2>$null)
  $env:FAIRLEAD_COMPLETE_EMPTY = $null
  if ($lines.Count -eq 0) { return }
  $last = $lines[-1]
  $lines | Select-Object -SkipLast 1 | Where-Object { $_ } | ForEach-Object {
    $text, $description = $_ -split "\`t", 2
    if (-not $description) { $description = $text }
    [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $description)
  }
  if ($last -eq ':files' -or $last -eq ':folders') {
    [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
  }
}
`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell }
