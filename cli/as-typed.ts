import { contracts } from '../subjects/index.ts'
import { commandNames, product } from '../subjects/kit/names.ts'
import type { TypedCommand } from './typed-command.ts'

/** No word of ours that is part of another one, such as of a path, or stands behind another program. */
const ownWord = String.raw`(?<![\w./@=:-]|compose exec \S+ )${product}`
const starts = new RegExp(String.raw`${ownWord} up(?=["\s]|$)(?! --)`, 'g')
let commands: RegExp | undefined

/** A text for people with our commands as they can be typed here, such as `./gantry info`. */
export function asTyped(
  { command: { here, start } }: { readonly command: TypedCommand },
  text: string,
): string {
  if (here === product) return text
  commands ??= new RegExp(
    String.raw`${ownWord}(?= (?:--|[[<]|(?:${[...commandNames, ...new Set(contracts.map(({ resource }) => resource))].join('|')})\b))`,
    'g',
  )
  // As functions, since a path may have what a replacement takes for a pattern.
  return text.replaceAll(starts, () => start).replaceAll(commands, () => here)
}
