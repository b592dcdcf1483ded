import { Tabs as Plain } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { useParam } from './use-param.ts'

/** Parts of a page of which one is in sight; its address says which. */
export function Tabs({
  label,
  parts,
}: {
  readonly label: string
  readonly parts: Readonly<Record<string, ReactNode>>
}) {
  const [tab, setTab] = useParam('tab')
  const names = Object.keys(parts)
  const current = names.includes(tab) ? tab : names[0]!
  const list = useRef<HTMLDivElement>(null)
  // In a narrow window the strip of tabs scrolls; the page itself stays where it is.
  useEffect(() => {
    const strip = list.current
    const active = strip?.querySelector('[aria-selected=true]')
    if (!strip || !active) return
    const [its, all] = [active.getBoundingClientRect(), strip.getBoundingClientRect()]
    if (its.left < all.left || its.right > all.right) strip.scrollLeft += its.left - all.left
  }, [current])
  return (
    <Plain
      value={current}
      onChange={(value) => setTab(value === names[0] ? '' : (value ?? ''))}
      keepMounted={false}
      mt="md"
    >
      <Plain.List ref={list} aria-label={label}>
        {names.map((name) => (
          <Plain.Tab key={name} value={name}>
            {name}
          </Plain.Tab>
        ))}
      </Plain.List>
      {names.map((name) => (
        <Plain.Panel key={name} value={name} pt="md">
          {parts[name]}
        </Plain.Panel>
      ))}
    </Plain>
  )
}
