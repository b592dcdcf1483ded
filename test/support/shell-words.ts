/** Commands of a script, each with its lines joined: a backslash or an open quote continues a line. */
export function shellCommands(script: string): string[] {
  const commands: string[] = []
  let command = ''
  for (const line of script.split('\n')) {
    command += line
    const isOpen = (command.match(/'/g)?.length ?? 0) % 2 === 1
    if (command.endsWith('\\')) command = command.slice(0, -1)
    else if (isOpen) command += '\n'
    else {
      if (command.trim() !== '') commands.push(command.trim())
      command = ''
    }
  }
  if (command !== '') commands.push(command.trim())
  return commands
}
