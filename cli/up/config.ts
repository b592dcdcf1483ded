import { join } from 'node:path'
import { readTextFile } from '../../broker/common/files.ts'
import { portKeyDescription, type PortKey } from '../../config/port-settings.ts'
import { givenPorts } from '../../config/ports.ts'
import { addressVariable, reachOf, signInPortVariable } from '../../config/reach.ts'
import { valuesIn } from '../../config/settings.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { allSettings, problemsIn } from '../assembly/configuration.ts'
import type { Context, Globals } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { presentOwn } from '../output/present.ts'
import { tableText } from '../output/table.ts'
import { homeFolder } from '../sign-in/token.ts'

/** `gantry config check`: all that is wrong with the configuration, which stays as it is. Resolves to the exit code. */
export function checkConfig(context: Context, globals: Globals): number {
  const folder = homeFolder(context)
  const problems = problemsIn(folder)
  presentOwn(context.terminal, globals, { folder, valid: problems.length === 0, problems }, () =>
    problems.length === 0
      ? `${folder}: no errors found\n`
      : problems.map((problem) => `${problem}\n`).join(''),
  )
  return problems.length === 0 ? exitCodes.ok.status : exitCodes.usage.status
}

const columns = ['file', 'name', 'value', 'default', 'description'] as const

/** `gantry config print`: what is set, by variables and in files; with `defaults` also what is not. Secrets are masked. */
export function printConfig(
  context: Context,
  globals: Globals,
  { defaults = false }: { defaults?: boolean },
) {
  const folder = homeFolder(context)
  const settings = allSettings()
  const texts = new Map(
    [...new Set(settings.map(({ file }) => file))].map((file) => {
      const text = readTextFile(join(folder, file))
      return [file, text === undefined ? {} : valuesOf(file, text)]
    }),
  )
  const rows = settings.flatMap(({ file, name, isSecret, default: byDefault, description }) => {
    const set = Object.entries(texts.get(file) ?? {}).filter(
      // Places in lists have one setting for all.
      ([key]) => key.replaceAll(/\[\d+\]/g, '[n]') === name,
    )
    const common = { file, ...(byDefault !== undefined && { default: byDefault }), description }
    if (set.length === 0) return defaults ? [{ ...common, name }] : []
    return set.map(([key, value]) => ({ ...common, name: key, value: isSecret ? '(secret)' : value }))
  })
  const all = [...ofEnvironment(context.env), ...rows]
  presentOwn(context.terminal, globals, all, () =>
    tableText(
      context.terminal,
      columns,
      all.map((row: Readonly<Record<string, string>>) => columns.map((column) => row[column] ?? '')),
    ),
  )
}

/** What variables set, which count for more than the files. @throws ConfigError */
function ofEnvironment(env: NodeJS.ProcessEnv) {
  const ports = Object.entries(givenPorts({}, env)).map(([name, { value, source }]) => ({
    file: source,
    name,
    value: String(value),
    description: portKeyDescription(name as PortKey),
  }))
  const { address, signInPort } = reachOf(env)
  const reach = [
    [addressVariable, address, 'Address of all servers'],
    [signInPortVariable, signInPort, 'Port of the sign-in page for development'],
  ] as const
  return [
    ...ports,
    ...reach.flatMap(([variable, value, description]) =>
      value === undefined ? [] : [{ file: variable, name: '', value: String(value), description }],
    ),
  ]
}

/** @throws GantryError INVALID_INPUT for a file that cannot be read as what it is */
function valuesOf(file: string, text: string): Readonly<Record<string, string>> {
  try {
    return valuesIn(file, text)
  } catch (cause) {
    const problem = `${file} cannot be read: run "${product} config check" for details`
    throw new GantryError('INVALID_INPUT', problem, { cause })
  }
}
