// The two ways in which a person uses a page: with the mouse, or with the keyboard alone.
import type { Locator, Page } from 'playwright-core';

type Role = 'button' | 'link' | 'checkbox' | 'tab';

export interface Hand {
  /** Presses a button, a link or a check box by its name; one in a menu after that was opened. */
  press: (name: string | RegExp, role?: Role) => Promise<void>;
  /**
   * Writes into a field by its label: the first, as a dialog may have a field with the label of a
   * filter of its screen.
   */
  write: (label: string, text: string) => Promise<void>;
  /** Chooses an option of a list by its label. */
  choose: (label: string, option: string) => Promise<void>;
}

export type HandKind = 'mouse' | 'keyboard';

/** More elements than any screen has that can have the focus. */
const TABS_MAX = 400;

export function handOf(kind: HandKind, page: Page): Hand {
  return kind === 'mouse' ? mouseOf(page) : keyboardOf(page);
}

/**
 * What has a role and a name, and the button of the menu that it is in while that is closed; null:
 * it can be seen.
 */
async function placeOf(
  page: Page,
  role: Role,
  name: string | RegExp,
): Promise<{ target: Locator; opener: Locator | null }> {
  const seen = page.getByRole(role, { name, exact: true }).first();
  const any = page.getByRole(role, { name, exact: true, includeHidden: true }).first();
  await any.waitFor({ state: 'attached' });
  if ((await seen.count()) > 0) return { target: seen, opener: null };
  const menu = await any.evaluate((element) => element.closest('[popover]:not(:popover-open)')?.id ?? null);
  return { target: seen, opener: menu === null ? null : page.locator(`[popovertarget="${menu}"]`) };
}

function mouseOf(page: Page): Hand {
  return {
    async press(name, role = 'button') {
      const { target, opener } = await placeOf(page, role, name);
      await opener?.click();
      await target.click();
    },
    write: (label, text) => fieldOf(page, label).fill(text),
    async choose(label, option) {
      await page.getByRole('combobox', { name: label, exact: true }).selectOption(option);
    },
  };
}

/** The text of a label has what stands in its field, too; the name of the field has not. */
function fieldOf(page: Page, label: string): Locator {
  const named = page.getByRole('textbox', { name: label, exact: true });
  return named.or(page.getByLabel(label, { exact: true })).first();
}

function keyboardOf(page: Page): Hand {
  const { keyboard } = page;

  /** Goes there with Tab, from where the focus is now. */
  async function goTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
      await keyboard.press('Tab');
    }
    throw new Error(`${String(target)} cannot be reached with Tab.`);
  }

  return {
    async press(name, role = 'button') {
      const { target, opener } = await placeOf(page, role, name);
      if (opener !== null) {
        await goTo(opener);
        await keyboard.press('Space');
      }
      await goTo(target);
      await keyboard.press(role === 'link' || role === 'tab' ? 'Enter' : 'Space');
    },
    async write(label, text) {
      await goTo(fieldOf(page, label));
      await keyboard.type(text);
    },
    async choose(label, option) {
      await goTo(page.getByRole('combobox', { name: label, exact: true }));
      await keyboard.type(option);
    },
  };
}
