import type { IconName } from '../components/icons';
import type { FieldType } from '../lib/types';

const ICONS: Record<FieldType, IconName> = {
  text: 'pencil', 'rich-text': 'file-text', 'html-page': 'blocks', slug: 'link', email: 'mail', link: 'external', image: 'image', file: 'file', enum: 'list', 'multi-enum': 'tag',
  boolean: 'check', color: 'sun', number: 'list-ordered', money: 'cart', date: 'calendar', datetime: 'clock', duration: 'clock', reference: 'link', references: 'layers', user: 'user', address: 'home',
};

export const typeIcon = (type: FieldType): IconName => ICONS[type] ?? 'file';
