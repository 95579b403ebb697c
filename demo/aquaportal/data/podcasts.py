"""The podcasts with their episodes and whole transcripts; every caller may listen to all of them."""

from demo.aquaportal.data.records import Episode, Podcast

PODCASTS = (
    Podcast(
        podcast_id="pod-healthy-waters",
        title="Healthy Waters",
        description="Fish health for people who work at sea, with Doctor Irene Paz.",
        episodes=(
            Episode(
                episode_id="epi-hw-3",
                number=3,
                title="Lice under control",
                days_ago=1,
                minutes=9,
                summary="How cleaner fish and fresh water keep sea lice low without medicine.",
                paragraphs=(
                    "Welcome to Healthy Waters. Today we talk about sea lice, and about two farms that "
                    "got them under control without a single bath of medicine.",
                    "The first farm counts lice every Monday, in twenty fish of each cage. It sounds "
                    "slow, but they found every rise a week before anybody else saw it.",
                    "The second farm keeps lumpfish in its cages. Five cleaner fish for every hundred "
                    "salmon were enough, as long as the nets stayed clean.",
                    "When the count still passes half a louse per fish, both farms treat with fresh "
                    "water. Six hours in the well boat removed nine of ten lice.",
                    "So count early, keep the nets clean, and book the boat before you need it. That was "
                    "Healthy Waters, and I wish you calm seas.",
                ),
            ),
            Episode(
                episode_id="epi-hw-2",
                number=2,
                title="What pale gills tell you",
                days_ago=15,
                minutes=11,
                summary="How to read the color of gills, and when to call the vet.",
                paragraphs=(
                    "This is Healthy Waters. Lift the gill cover of a salmon and you see how well it "
                    "breathes. A healthy gill is deep red, like a cherry.",
                    "Pale gills mean that the blood carries less oxygen. Low oxygen in the water, "
                    "parasites and old feed are the usual reasons.",
                    "If more than five fish in a hundred have pale gills, measure the oxygen at dawn, "
                    "when it is lowest, and call the vet the same day.",
                    "Write down what you see, with the number of the cage. A photo in daylight is worth "
                    "more than a page of words.",
                ),
            ),
            Episode(
                episode_id="epi-hw-1",
                number=1,
                title="Oxygen at dawn",
                days_ago=29,
                minutes=8,
                summary="Why the hour before sunrise decides how much fish can eat.",
                paragraphs=(
                    "Welcome to the first Healthy Waters. We begin with the hour that nobody likes, the "
                    "hour before sunrise.",
                    "At night the algae stop making oxygen and start to use it. Just before dawn the "
                    "water holds the least of the whole day.",
                    "Fish that eat at that hour need more oxygen than there is. Wait until the sensor "
                    "shows seven milligrams per liter, and start slowly.",
                ),
            ),
        ),
    ),
    Podcast(
        podcast_id="pod-feeding-time",
        title="Feeding Time",
        description="Feed, growth and money, explained in ten minutes.",
        episodes=(
            Episode(
                episode_id="epi-ft-2",
                number=2,
                title="Watching the last pellet",
                days_ago=4,
                minutes=10,
                summary="Cameras that see when the fish have had enough.",
                paragraphs=(
                    "Hello, and welcome to Feeding Time. A pellet that nobody eats costs money twice: "
                    "once when you buy it, and once when the divers clean the bottom.",
                    "We visited the east center, where two cameras look up from eight meters. When the "
                    "third pellet passes uneaten, the feeder stops.",
                    "In one month they saved four tonnes of feed, and the fish grew as before.",
                ),
            ),
            Episode(
                episode_id="epi-ft-1",
                number=1,
                title="Small meals, big fish",
                days_ago=18,
                minutes=10,
                summary="Why six small meals can beat two large ones.",
                paragraphs=(
                    "Welcome to Feeding Time. Two big meals a day are easy for people. For salmon, six "
                    "small ones are better.",
                    "Small meals leave the shy fish a chance. At the end of the season the cage is more "
                    "even, and the buyer pays for even.",
                    "Begin with four meals, watch for a week, and only then go to six.",
                ),
            ),
        ),
    ),
    Podcast(
        podcast_id="pod-voices-of-the-farm",
        title="Voices of the Farm",
        description="People from the centers tell how they work.",
        episodes=(
            Episode(
                episode_id="epi-vf-1",
                number=1,
                title="A night on the feed barge",
                days_ago=7,
                minutes=14,
                summary="Marta Vidal on storms, coffee and the sound of healthy fish.",
                paragraphs=(
                    "My name is Marta Vidal and I have worked on the feed barge of the south center for "
                    "twelve years. The night shift is my favorite.",
                    "In a storm you hear the chains before you feel the wind. We tie everything down, "
                    "make coffee, and look at the oxygen every half hour.",
                    "Healthy fish have a sound. When they jump at first light it is like rain on the "
                    "water, and then I know that I can go home.",
                ),
            ),
        ),
    ),
)
