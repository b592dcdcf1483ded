import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'

/**
 * A part of what a page shows that its address says too, so that it can be shared; '' where it does not.
 * @param isStep whether the browser's way back leads to the value before
 */
export function useParam(
  name: string,
  { isStep = false }: { readonly isStep?: boolean } = {},
): readonly [value: string, set: (value: string) => void] {
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>
  const navigate = useNavigate()
  const value = search[name]
  const set = (next: string) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, [name]: next === '' ? undefined : next }),
      replace: !isStep,
    } as never)
  return [typeof value === 'string' || typeof value === 'number' ? String(value) : '', set]
}

/** Whoever types pauses so long at the end of a word. */
const pauseMs = 250

/** The same for what is typed: the address says it after a pause, as changing that takes longer than a key. */
export function useTyped(name: string): readonly [text: string, set: (text: string) => void] {
  const [value, setValue] = useParam(name)
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    // What is being typed goes before what the address says still.
    if (timer.current === undefined) setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const set = (next: string) => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      setValue(next)
    }, pauseMs)
  }
  return [text, set]
}

/** The filters of a page, by field. */
export function useFilters<T extends object>(): readonly [
  filters: Partial<T>,
  set: (filters: Partial<T>) => void,
] {
  const [text, setText] = useTyped('filters')
  const filters = useMemo(() => filtersIn<T>(text), [text])
  return [filters, (next) => setText(Object.keys(next).length === 0 ? '' : JSON.stringify(next))]
}

/** What a link says; nothing where that is no object. What is wrong in it the platform says. */
function filtersIn<T extends object>(text: string): Partial<T> {
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : {}
  } catch {
    return {}
  }
}
