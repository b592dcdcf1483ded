import { useNavigate, useSearch } from '@tanstack/react-router'

/** A part of what a page shows that its address says too, so that it can be shared; '' where it does not. */
export function useParam(name: string): readonly [value: string, set: (value: string) => void] {
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>
  const navigate = useNavigate()
  const value = search[name]
  const set = (next: string) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, [name]: next === '' ? undefined : next }),
      replace: true,
    } as never)
  return [typeof value === 'string' || typeof value === 'number' ? String(value) : '', set]
}
