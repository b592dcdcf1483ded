import { roots } from '../kit/names.ts'
import { coveringRule } from '../kit/patterns.ts'

/** All subjects of an extension. */
export const extensionSubjects = (prefix: string): string => `${roots.extensions}.${prefix}.>`

/**
 * Whether somebody sees an extension: its subjects are covered by what the person may subscribe to, and a role names it.
 * @param rules `visible_extensions` has prefixes, `*` for all
 */
export const isVisible = (
  prefix: string,
  rules: {
    readonly sub: { readonly allow: readonly string[] }
    readonly visible_extensions: readonly string[]
  },
): boolean =>
  coveringRule(rules.sub.allow, extensionSubjects(prefix)) !== undefined &&
  rules.visible_extensions.some((visible) => visible === '*' || visible === prefix)
