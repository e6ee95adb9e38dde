/** Which device's timeline is shown, where a file has several. */
import { h } from './dom.js';

/**
 * @param {{device: number, label: string}[]} devices
 * @param {number} judged the device that the verdict is about
 * @param {(device: number) => void} onDevice
 */
export function deviceSwitch(devices, judged, onDevice) {
  const button = ({ device, label }) => {
    const title = device === judged ? 'The verdict is about this device' : null;
    return h('button', { type: 'button', class: 'segment', 'aria-pressed': 'false', title, onclick: () => onDevice(device) }, label);
  };
  const buttons = new Map(devices.map((each) => [each.device, button(each)]));

  return {
    root: h('div', { class: 'segments', role: 'group', 'aria-label': 'Device' }, [...buttons.values()]),
    update(state) {
      for (const [device, element] of buttons) {
        element.setAttribute('aria-pressed', String(device === state.device));
      }
    },
  };
}
