// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.rpcrdma.Proves;

class CreditsTest {

    @Test
    @Proves({
        "V1-CRED-01",
        "V1-CRED-02",
        "V1-CRED-04",
        "V1-CRED-07",
        "V1-CRED-08",
        "V1-CRED-12",
        "V1-CRED-16",
        "V1-CRED-17",
        "V1-CRED-19"
    })
    void workedNumbers() {
        RequesterCredits credits = new RequesterCredits(32);
        expect(credits, 1, 0, 1); // connected
        credits.sent();
        expect(credits, 1, 1, 0); // call A
        credits.updateGrant(16);
        expect(credits, 16, 0, 16);
        for (int i = 0; i < 10; i++) {
            credits.sent();
        }
        expect(credits, 16, 10, 6);
        credits.updateGrant(4);
        expect(credits, 4, 9, 0); // shrunk below what is out
        for (int i = 0; i < 5; i++) {
            credits.updateGrant(4);
        }
        expect(credits, 4, 4, 0);
        credits.updateGrant(4);
        expect(credits, 4, 3, 1);
        credits.updateGrant(64);
        expect(credits, 64, 2, 30);
        credits.sent();
        expect(credits, 64, 3, 29);
        // A cancelled call changes nothing.
        assertThat(credits.updateGrant(0)).isFalse();
        expect(credits, 1, 2, 0);
        expect(new RequesterCredits(32), 1, 0, 1); // reconnected
    }

    /** requirements 3.8: a grant of 4, three calls out, and one reply in a Read chunk. */
    @Test
    @Proves({"RR-20", "RR-21", "OLD-11"})
    void pullCompletionsAreInFlightUntilALaterCallIsAnswered() {
        RequesterCredits credits = new RequesterCredits(32);
        credits.sent();
        credits.updateGrant(4);
        long before = credits.sent();
        credits.sent();
        credits.sent();
        expect(credits, 4, 3, 1);
        credits.answered(before);
        credits.updateGrant(4);
        credits.completionDue();
        expect(credits, 4, 2, 1); // the credit of the reply is the completion's
        credits.completionSent();
        expect(credits, 4, 2, 1);
        long after = credits.sent();
        expect(credits, 4, 3, 0);
        credits.answered(after);
        credits.updateGrant(4);
        expect(credits, 4, 2, 2); // that reply shows that both were received

        // Replies to calls from before the completion show nothing.
        credits.completionDue();
        credits.completionSent();
        credits.answered(before);
        credits.updateGrant(4);
        expect(credits, 4, 1, 2);
    }

    @Test
    @Proves({"RR-21", "OLD-12"})
    void withOneCreditOneCallMayPassPullCompletions() {
        RequesterCredits credits = new RequesterCredits(32);
        credits.answered(credits.sent());
        credits.updateGrant(1);
        credits.completionDue();
        expect(credits, 1, 0, 0); // first the completion
        credits.completionSent();
        expect(credits, 1, 0, 1);
        long after = credits.sent();
        expect(credits, 1, 1, 0);
        credits.answered(after);
        credits.failed(1); // RDMA_ERROR shows it too
        expect(credits, 1, 0, 1);
    }

    @Test
    @Proves({"V1-CRED-18", "V1-CRED-13"})
    void anErrorMayLowerTheGrantButNeverRaiseIt() {
        RequesterCredits credits = new RequesterCredits(32);
        credits.sent();
        credits.failed(64);
        expect(credits, 1, 0, 1);
        credits.sent();
        assertThat(credits.updateGrant(64)).isTrue();
        credits.sent();
        credits.failed(8);
        expect(credits, 8, 0, 8);
    }

    @Test
    @Proves({"V1-CRED-05", "V1-CRED-03"})
    void hugeGrantsAndTinyConfigurations() {
        RequesterCredits credits = new RequesterCredits(32);
        credits.sent();
        credits.updateGrant(0xFFFFFFFF);
        expect(credits, 0xFFFFFFFFL, 0, 32);
        assertThat(new ResponderCredits(64, 0).granted()).isEqualTo(1);
        assertThat(new ResponderCredits(64, 16).granted()).isEqualTo(16);
    }

    @Test
    @Proves("V1-CRED-15")
    void unansweredCallsAreBounded() {
        ResponderCredits credits = new ResponderCredits(2, 80);
        assertThat(credits.tryAcquire()).isTrue();
        assertThat(credits.tryAcquire()).isTrue();
        credits.answered();
        credits.grant(2);
        assertThat(credits.tryAcquire()).isTrue();
        assertThat(credits.tryAcquire()).isFalse();
        assertThat(credits.granted()).isEqualTo(2);
    }

    /** The numbers of requirements 3.5 for a responder that lowers 32 to 8 and goes back. */
    @Test
    @Proves({"V1-CRED-07", "V1-CRED-08", "V1-CRED-09"})
    void loweredGrantKeepsWhatWasPromised() {
        ResponderCredits credits = new ResponderCredits(32, 80);
        for (int i = 0; i < 20; i++) {
            assertThat(credits.tryAcquire()).isTrue();
        }
        assertThat(credits.outstanding()).isEqualTo(12);
        credits.answered();
        assertThat(credits.grant(8)).isEqualTo(8);
        // Twelve more may be on their way under the old grant.
        for (int i = 12; i > 0; i--) {
            assertThat(credits.outstanding()).isEqualTo(i);
            assertThat(credits.tryAcquire()).isTrue();
        }
        assertThat(credits.outstanding()).isZero();
        while (credits.unanswered() > 8) {
            credits.answered();
            credits.grant(8);
            assertThat(credits.outstanding()).isZero();
        }
        credits.answered();
        credits.grant(8);
        assertThat(credits.outstanding()).isEqualTo(1);
        assertThat(credits.tryAcquire()).isTrue();
        assertThat(credits.tryAcquire()).isFalse();
    }

    @Property
    @Proves({"V1-CRED-03", "V1-CRED-15"})
    void requesterThatKeepsToItsGrantsIsNeverOverrun(
            @ForAll @Size(max = 200) List<@IntRange(max = 40) Integer> grants) {
        ResponderCredits responder = new ResponderCredits(32, 80);
        RequesterCredits requester = new RequesterCredits(64);
        for (int grant : grants) {
            while (requester.allowed() > 0) {
                requester.sent();
                assertThat(responder.outstanding()).isPositive();
                assertThat(responder.tryAcquire()).isTrue();
            }
            responder.answered();
            requester.updateGrant(responder.grant(grant));
            assertThat(responder.granted()).isBetween(1, 32);
        }
    }

    @Property
    @Proves("V1-CRED-02")
    void neverMoreOutThanTheSmallerOfRequestedAndGranted(@ForAll int[] grants) {
        RequesterCredits credits = new RequesterCredits(32);
        for (int grant : grants) {
            while (credits.allowed() > 0) {
                credits.sent();
                assertThat((long) credits.inFlight)
                        .isLessThanOrEqualTo(Math.min(32, credits.granted));
            }
            assertThat(credits.inFlight).isPositive();
            credits.updateGrant(grant);
            assertThat(credits.granted).isPositive();
        }
    }

    private static void expect(RequesterCredits credits, long granted, int inFlight, int allowed) {
        assertThat(credits.granted).isEqualTo(granted);
        assertThat(credits.inFlight).isEqualTo(inFlight);
        assertThat(credits.allowed()).isEqualTo(allowed);
    }
}
