import { coerceFields, type FieldText } from '../kit/coerce.ts'
import type { Contract } from '../kit/contract.ts'
import { fieldsOf } from '../kit/json-schema.ts'
import { shellWords } from '../kit/shell-word.ts'

/** A command line as typed, taken apart as the command does it: its first three words, and the input. */
export function parseCommand(
  contract: Contract,
  line: string,
): { command: string[]; values: Record<string, unknown> } {
  const words = shellWords(line)
  const [, , , ...given] = words
  const texts: Record<string, FieldText> = {}
  const args = [...(contract.cli?.args ?? [])]
  while (given.length > 0) {
    const word = given.shift()!
    if (!word.startsWith('--')) texts[args.shift() ?? `(${word})`] = word
    else {
      const name = fieldOfFlag(contract, word.slice(2))
      // A switch stands alone.
      texts[name] = fieldsOf(contract.input)[name]?.type === 'boolean' ? 'true' : (given.shift() ?? '')
    }
  }
  return { command: words.slice(0, 3), values: coerceFields(contract.input, texts) }
}

/** The field of `--visible-extensions` may be visibleExtensions or visible_extensions. */
const fieldOfFlag = (contract: Contract, flag: string): string =>
  Object.keys(fieldsOf(contract.input)).find((name) => bare(name) === bare(flag)) ?? flag

const bare = (name: string) => name.replaceAll(/[-_]/g, '').toLowerCase()
