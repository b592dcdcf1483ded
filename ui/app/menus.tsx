import { NavLink } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useFeatures } from '../data/features.ts'

/** What the extensions that one sees have put into the navigation. */
export function Menus() {
  return useFeatures().flatMap(({ prefix, menus }) =>
    menus
      .toSorted((one, other) => (one.order ?? 0) - (other.order ?? 0))
      .map(({ label, route }) => (
        <NavLink
          key={`${prefix}${label}${route}`}
          component={Link}
          activeOptions={{ exact: true }}
          to={`/extensions/${prefix}/pages${route}`}
          label={<bdi className="name">{label}</bdi>}
          py={4}
          pl="lg"
        />
      )),
  )
}
