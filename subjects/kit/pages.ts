import { maxPageLength } from './schemas.ts'

/**
 * All that a list has, page by page.
 * @param pageAfter what comes after the last of the page before
 * @param known what it begins with, where that is known
 */
export async function allPages<T>(
  pageAfter: (after: T | undefined) => Promise<readonly T[]>,
  known: readonly T[] = [],
): Promise<T[]> {
  const all = [...known]
  for (;;) {
    const page = await pageAfter(all.at(-1))
    all.push(...page)
    if (page.length < maxPageLength) return all
  }
}
