import { type Contract, verbOf } from '../../subjects/kit/contract.ts'
import { product, tokenVariable } from '../../subjects/kit/names.ts'
import { routeFields } from '../../subjects/kit/route.ts'
import { shellWord } from '../../subjects/kit/shell-word.ts'

type Values = Readonly<Record<string, unknown>>

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * The command line that does what a contract with this input does. A value never stands alone before `--`: one that begins
 * with a hyphen would be an option, such as that of the server which gets the token.
 * @param command how the program is called
 */
export function commandText(contract: Contract, input: Values, command: string = product): string {
  const { resource, cli } = contract
  const args = cli?.args ?? []
  const words = args.flatMap((name) => (typeof input[name] === 'string' ? [shellWord(input[name])] : []))
  const flags = Object.entries(input).flatMap(([name, value]) => {
    if ((args.includes(name) && typeof value === 'string') || value === undefined) return []
    if (value === true) return [`--${kebab(name)}`]
    if (value === false) return [`--no-${kebab(name)}`]
    const isList = Array.isArray(value) && value.length > 0 && value.every(isPlain)
    return (isList ? value : [value]).map((item) => `--${kebab(name)}=${shellWord(textOf(item))}`)
  })
  const last = words.some((word) => /^'?-/.test(word)) ? ['--'] : []
  return [command, resource, verbOf(contract), ...flags, ...last, ...words].join(' ')
}

/** An item of a list that is not taken for several. */
const isPlain = (item: unknown): item is string =>
  typeof item === 'string' && /^[^,@[{]/.test(item) && !item.includes(',')

/** The same for curl; undefined for what is asked over the broker alone. */
export function curlText(contract: Contract, input: Values, origin: string): string | undefined {
  const route = contract.http[0]
  if (route === undefined) return undefined
  const { path: inPath, query, body } = routeFields(contract, route)
  const path = inPath.reduce(
    (text, name) =>
      text.replace(
        `{${name}}`,
        input[name] === undefined ? `{${name}}` : encodeURIComponent(textOf(input[name])),
      ),
    route.path,
  )
  const asked = query.flatMap((name) =>
    [input[name] ?? []].flat().map((value) => `${name}=${encodeURIComponent(textOf(value))}`),
  )
  const sent = Object.fromEntries(
    body.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  )
  const url = `${origin}${path}${asked.length > 0 ? `?${asked.join('&')}` : ''}`
  return [
    'curl',
    ...(route.method === 'GET' ? [] : ['-X', route.method]),
    `-H "Authorization: Bearer $${tokenVariable}"`,
    ...(body.length > 0
      ? ["-H 'Content-Type: application/json'", '-d', shellWord(JSON.stringify(sent))]
      : []),
    shellWord(url),
  ].join(' ')
}
