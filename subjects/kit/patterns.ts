/**
 * The algebra of subjects and their wildcards: `*` stands for exactly one token, `>` at the end for one or more. A rule
 * covers a pattern when every subject that the pattern matches is matched by the rule too; that is how a key is compared
 * with its creator. nats-server decides the same, rule by rule, with one exception: it takes the `>` of a subscription
 * for a word, so that a rule whose last token is `*` lets it through, and the subscriber gets all that is deeper.
 */

/** Whether one rule covers a subject or pattern. */
export function ruleCovers(rule: string, requested: string): boolean {
  const rules = rule.split('.')
  const tokens = requested.split('.')
  for (const [index, token] of tokens.entries()) {
    const own = rules[index]
    if (own === undefined) return false
    if (own === '>') return true
    // `>` reaches further than any other token, and `*` further than a word.
    if (token === '>') return false
    if (own !== '*' && own !== token) return false
  }
  return rules.length === tokens.length
}

/** The first rule that covers the subject or pattern, or undefined. */
export const coveringRule = (rules: readonly string[], requested: string): string | undefined =>
  rules.find((rule) => ruleCovers(rule, requested))

/** Those of the requested patterns that no rule covers. */
export const uncovered = (rules: readonly string[], requested: readonly string[]): string[] =>
  requested.filter((pattern) => coveringRule(rules, pattern) === undefined)

/** What both lists of rules allow: rules of one that the other covers. What is in both only in part is in neither. */
export function commonRules(one: readonly string[], other: readonly string[]): string[] {
  const covered = one.filter((rule) => coveringRule(other, rule) !== undefined)
  const covering = other.filter((rule) => coveringRule(one, rule) !== undefined)
  return withoutCovered([...covered, ...covering])
}

/** The rules, each once, without those that another one includes. */
export function withoutCovered(rules: readonly string[]): string[] {
  const distinct = [...new Set(rules)]
  return distinct.filter((rule) => !distinct.some((other) => other !== rule && ruleCovers(other, rule)))
}

/**
 * What a connection with these subscribe rules must be denied, so that it hears no more than they say: nats-server takes
 * the subject of a subscription literally, so a rule that ends in `*` lets `>` in its place through. Where another rule
 * reaches all that lies beyond, nothing is denied; where one reaches a part of it, that part is lost to such a key.
 */
export const denyBeyond = (rules: readonly string[]): string[] =>
  rules
    .filter((rule) => rule === '*' || rule.endsWith('.*'))
    .map((rule) => `${rule}.>`)
    .filter((beyond) => coveringRule(rules, beyond) === undefined)
